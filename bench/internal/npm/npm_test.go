package npm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/bench/internal/npm"
)

func TestMissingNamesThePackage(t *testing.T) {
	modules := t.TempDir()
	if err := os.MkdirAll(filepath.Join(modules, "@scope", "there"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := npm.Missing(modules, "@scope/there", "@scope/absent")
	if err == nil || !strings.HasPrefix(err.Error(), "@scope/absent ") {
		t.Errorf("got %v, want an error that names @scope/absent", err)
	}
	_, noNode := exec.LookPath("node")
	if err := npm.Missing(modules, "@scope/there"); (err == nil) != (noNode == nil) {
		t.Errorf("got %v, want no error where Node.js is installed", err)
	}
}

// Scripts are written twice into one directory: by the server, and by its pages.
func TestWriteTwice(t *testing.T) {
	dir, modules := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(modules, "mark"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.mjs", "b.mjs"} {
		if err := npm.Write(dir, modules, map[string][]byte{name: []byte(name)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"a.mjs", "b.mjs", "node_modules/mark"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
}
