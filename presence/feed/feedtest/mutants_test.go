package feedtest_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/testutil/mutants"
)

// The kit is worth what it notices: a Memory that is broken in one place after another.
func TestMutants(t *testing.T) {
	mutants.Play(t, mutants.Tests{Source: ".", Files: "memory*.go", Binary: ".", Run: "^TestRules$", Known: "testdata/mutants.txt"})
}
