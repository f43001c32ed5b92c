package presencetest_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// memory is the memory store's harness. The bug, if any, is planted in each.
func memory(plant func(backend.Store) backend.Store) presencetest.Harness {
	return presencetest.Harness{
		Requires: backend.AllFeatures,
		New: func(*testing.T) backend.Core {
			if plant != nil {
				return plant(memstore.New())
			}
			return memstore.New()
		},
		Advance: func(_ backend.Core, d time.Duration) { time.Sleep(d) },
		Wrap:    synctest.Test,
	}
}

// harness is of the memory store, or of the mutant that this process is for.
func harness() presencetest.Harness {
	if os.Getenv(mutantEnv) == eagerName {
		return memory(eager)
	}
	return memory(mutants()[os.Getenv(mutantEnv)].plant)
}

func TestMemoryStore(t *testing.T) { presencetest.Run(t, harness()) }

func TestMemoryStoreModel(t *testing.T) { presencetest.Model(t, harness()) }

func TestMemoryStoreCompare(t *testing.T) {
	presencetest.Compare(t, memory(nil), harness(), 3000, 1)
}

// A store that takes its time, over a bus that does, passes as well: no case
// expects a diff at once.
func TestSlowStore(t *testing.T) {
	presencetest.Run(t, memory(func(s backend.Store) backend.Store {
		slow := presencetest.NewFaults(s)
		slow.Break(presencetest.Fault{Delay: 5 * time.Millisecond})
		slow.Disturb(presencetest.Disturbance{Delay: 300 * time.Millisecond})
		return slow
	}))
}

// A store that sweeps on its own, at every call, passes as well.
func TestEagerStore(t *testing.T) {
	presencetest.Run(t, memory(eager))
	presencetest.Model(t, memory(eager))
}

const eagerName = "eager"

func eager(s backend.Store) backend.Store {
	sweep := func(ctx context.Context) { _, _ = s.Sweep(ctx, backend.SweepOptions{Limit: 1000}) }
	return planted{
		Store: s,
		apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
			sweep(ctx)
			return s.Apply(ctx, batches)
		},
		snapshot: func(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
			sweep(ctx)
			return s.Snapshot(ctx, topic)
		},
	}
}

// Two nodes that share a store, each with a client of its own.
func TestPeers(t *testing.T) {
	h := memory(nil)
	h.Peer = func(_ *testing.T, store backend.Core) backend.Core { return presencetest.NewFaults(store) }
	presencetest.Run(t, h)
	presencetest.Model(t, h)
}
