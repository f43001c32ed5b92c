package templates_test

import (
	"os"
	"testing"

	"github.com/rollcall-go/rollcall/internal/browse"
)

func TestMain(m *testing.M) { os.Exit(browse.Tests{M: m}.Run()) }

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
