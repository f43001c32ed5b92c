package presencetest_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// harness is of the memory store, or of the mutant that TestMutants asks for.
func harness() presencetest.Harness {
	plant := mutants()[os.Getenv(mutantEnv)].plant
	return presencetest.Harness{
		New: func(*testing.T) presence.Store {
			if plant != nil {
				return plant(presence.NewMemoryStore())
			}
			return presence.NewMemoryStore()
		},
		Advance: func(_ presence.Store, d time.Duration) { time.Sleep(d) },
		Wrap:    synctest.Test,
	}
}

func TestMemoryStore(t *testing.T) { presencetest.Run(t, harness()) }

func TestMemoryStoreModel(t *testing.T) { presencetest.Model(t, harness()) }

func TestMemoryStoreCompare(t *testing.T) { presencetest.Compare(t, harness(), harness(), 10_000, 1) }

// A store that takes its time, over a bus that does, passes as well: no case
// waits for a diff in the wrong way.
func TestSlowStore(t *testing.T) {
	h := harness()
	h.New = func(*testing.T) presence.Store {
		slow := presencetest.NewFaults(presence.NewMemoryStore())
		slow.Break(presencetest.Fault{Delay: 5 * time.Millisecond})
		slow.Disturb(presencetest.Bus{Delay: 300 * time.Millisecond})
		return slow
	}
	presencetest.Run(t, h)
}

// Two nodes that share a store, each with a client of its own.
func TestPeer(t *testing.T) {
	h := harness()
	h.Peer = func(_ *testing.T, store presence.Store) presence.Store { return presencetest.NewFaults(store) }
	presencetest.Run(t, h)
	presencetest.Model(t, h)
}
