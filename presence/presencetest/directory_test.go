package presencetest_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/presence/presencetest"
)

func TestMemoryDirectory(t *testing.T) {
	presencetest.RunDirectory(t, presencetest.DirectoryHarness{New: func(*testing.T) presencetest.DirectorySite {
		return presencetest.NewMemoryDirectory().Site()
	}})
}
