package redisstore

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A command that a script calls is among those that Check tries and names the right to. Otherwise the script fails where an operator
// gave the store no other rights, and only when it comes to that line.
func TestScriptsCallNothingElse(t *testing.T) {
	known := map[string]bool{"INFO": true} // poll.lua goes on without it
	for _, command := range commands {
		name, _, _ := strings.Cut(command, " ")
		known[name] = true
	}
	files, _ := filepath.Glob("lua/*.lua")
	called := regexp.MustCompile(`(?:call|ask)\('([A-Z]+)'`)
	found := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range called.FindAllStringSubmatch(string(text), -1) {
			if found++; !known[call[1]] {
				t.Errorf("%s calls %s, which is not among the commands of check.go", name, call[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d calls, want those of all scripts", found)
	}
}
