package presencetest_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/testutil/mutants"
)

// The kits are worth what they notice: a memory store and a memory directory that are broken in one place after
// another.
func TestMutants(t *testing.T) {
	t.Run("store", func(t *testing.T) {
		mutants.Play(t, mutants.Tests{Source: "../memstore", Files: "*.go", Binary: ".", Run: "^TestMemoryStore$", Known: "testdata/store_mutants.txt"})
	})
	t.Run("directory", func(t *testing.T) {
		mutants.Play(t, mutants.Tests{Source: ".", Files: "directory.go", Binary: ".", Run: "^TestMemoryDirectory$", Known: "testdata/directory_mutants.txt"})
	})
}
