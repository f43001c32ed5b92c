package presencetest_test

import (
	"os"
	"testing"

	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// memoryDirectory is the harness of MemoryDirectory, or of the mutant that this process is
// for.
func memoryDirectory() presencetest.DirectoryHarness {
	plant := directoryMutants()[os.Getenv(mutantEnv)].plant
	return presencetest.DirectoryHarness{New: func(*testing.T) presencetest.DirectorySite {
		site := presencetest.NewMemoryDirectory().Site()
		if plant != nil {
			return plant(site)
		}
		return site
	}}
}

func TestMemoryDirectory(t *testing.T) { presencetest.RunDirectory(t, memoryDirectory()) }
