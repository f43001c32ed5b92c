package rollcall_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/browse"
)

// firstBlock returns the first program in Go of the README, as somebody would copy it.
func firstBlock(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(readme), "\n```go\n")
	block, _, _ = strings.Cut(block, "```\n")
	return block
}

// The first program of the README is examples/quickstart.
func TestFirstBlockIsQuickstart(t *testing.T) {
	source, err := os.ReadFile("examples/quickstart/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(source), "\n") // without the comment
	if block := firstBlock(t); block != program {
		t.Errorf("the README begins with\n%s\nand examples/quickstart is\n%s", block, program)
	}
	if lines := strings.Count(string(source), "\n"); lines > 30 {
		t.Errorf("examples/quickstart has %d lines, and may have 30", lines)
	}
}

// A site of nothing but the first program of the README works in a browser.
func TestFirstBlockRuns(t *testing.T) {
	addr := freeAddr(t)
	dir := t.TempDir()
	program := strings.ReplaceAll(firstBlock(t), "127.0.0.1:8080", addr)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "site")
	if out, err := exec.Command("go", "build", "-o", binary, filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	site := exec.Command(binary)
	log, err := site.StderrPipe()
	if err == nil {
		err = site.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the browser, which would log errors
		_ = site.Process.Kill()
		_ = site.Wait()
	})
	if line, err := bufio.NewReader(log).ReadString('\n'); !strings.Contains(line, "presence: ready") {
		t.Fatalf("got %q, %v, want the line of the start", line, err)
	}
	open(t, "http://"+addr+"/", "")()

	const shown = `[...document.querySelectorAll("whos-online [data-user]")].map((li) => li.dataset.user).sort()`
	signIn := func(tab *browse.Tab, name string) {
		tab.Open("http://" + addr)
		tab.Until(`(document.querySelector("input").value = "`+name+`", document.querySelector("input").onchange(), 1)`, "1")
		tab.Until(`document.cookie.includes("name=`+name+`") && `+shown+`.includes("`+name+`")`, "true")
	}
	alice, bob := browse.New(t), browse.New(t)
	signIn(alice, "alice")
	alice.Until(`document.querySelector("whos-online").dataset.live`, "on")
	signIn(bob, "bob")
	alice.Until(shown, "alice,bob")
}
