package handlers_test

import (
	"testing"
	"testing/synctest"

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

// bubble runs a test by its name in a bubble of its own.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// onSite runs a test of a site in a bubble.
func onSite(t *testing.T, o setup, test func(t *testing.T, s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newSite(t, o)) })
}
