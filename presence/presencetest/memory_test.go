package presencetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// memory is the harness of the memory store, or of a store over it.
func memory(over func(backend.Store) backend.Store) presencetest.Harness {
	return presencetest.Harness{
		New: func(*testing.T) backend.Store {
			if over != nil {
				return over(memstore.New())
			}
			return memstore.New()
		},
		Advance: func(_ backend.Store, d time.Duration) { time.Sleep(d) },
		Wrap:    synctest.Test,
	}
}

func TestMemoryStore(t *testing.T) { presencetest.Run(t, memory(nil)) }

func TestMemoryStoreModel(t *testing.T) { presencetest.Model(t, memory(nil)) }

func TestMemoryStoreCompare(t *testing.T) {
	presencetest.Compare(t, memory(nil), memory(nil), 3000, 1)
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

// An eagerStore sweeps at each call that writes or reads a topic.
type eagerStore struct{ backend.Store }

func eager(s backend.Store) backend.Store { return eagerStore{s} }

func (s eagerStore) sweep(ctx context.Context) {
	_, _ = s.Sweep(ctx, backend.SweepOptions{Limit: 1000})
}

func (s eagerStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.sweep(ctx)
	return s.Store.Apply(ctx, batches)
}

func (s eagerStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	s.sweep(ctx)
	return s.Store.Snapshot(ctx, topic)
}

// Two nodes that share a store, each with a client of its own.
func TestPeers(t *testing.T) {
	h := memory(nil)
	h.Peer = func(_ *testing.T, store backend.Store) backend.Store { return presencetest.NewFaults(store) }
	presencetest.Run(t, h)
	presencetest.Model(t, h)
}
