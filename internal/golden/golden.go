// Package golden is for tests. It keeps what one node writes and another one reads, byte for
// byte, in testdata/golden of the package under test.
//
// A golden file never changes: nodes of the version that wrote it run beside those of the next
// one while a fleet is updated, and every later version must read it. A later version may write
// more fields of a JSON object, which the readers of the file ignore. Whoever changes a form in
// another way gives it a new version and a file of its own, and keeps the old file for reading.
package golden

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var write = flag.Bool("golden.write", false, "write the golden files that are missing")

// Read returns a golden file.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Wrote fails the test unless got is what the golden file holds, or the same with more fields in
// its JSON object. With -golden.write it writes a file that is missing.
func Wrote(t testing.TB, name, got string) {
	t.Helper()
	if _, err := os.Stat(path(name)); err != nil && *write {
		if err := os.MkdirAll(filepath.Dir(path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := Read(t, name); !Covers(got, want) {
		t.Errorf("%s: got\n%q\nwant\n%q\nor the same with more fields: other nodes of a fleet read it", name, got, want)
	}
}

func path(name string) string { return filepath.Join("testdata", "golden", name+".txt") }

// Covers reports whether got is want, or is want with more fields in the JSON object that begins
// at the first brace. What stands before the object is the same in both.
func Covers(got, want string) bool {
	if got == want {
		return true
	}
	head, object, ok := strings.Cut(want, "{")
	rest, more := strings.CutPrefix(got, head+"{")
	if !ok || !more {
		return false
	}
	var has, wants any
	if json.Unmarshal([]byte("{"+rest), &has) != nil || json.Unmarshal([]byte("{"+object), &wants) != nil {
		return false
	}
	return contains(has, wants)
}

func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		has, ok := got.(map[string]any)
		for key, value := range want {
			if field, there := has[key]; !there || !contains(field, value) {
				return false
			}
		}
		return ok
	case []any:
		has, ok := got.([]any)
		if !ok || len(has) != len(want) {
			return false
		}
		for i := range want {
			if !contains(has[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}
