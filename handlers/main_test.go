package handlers_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
