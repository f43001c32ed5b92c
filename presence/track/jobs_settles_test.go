package track_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// A coldStore has started again. Its leases may be those of an older file.
type coldStore struct {
	*memstore.Store
	mu      sync.Mutex
	cold    bool
	met     bool
	settled func()    // called as a sweep says that all leases were renewed
	removed time.Time // when a sweep last removed whatever had expired
}

func (s *coldStore) Sweep(ctx context.Context, o backend.SweepOptions) (backend.Swept, error) {
	s.mu.Lock()
	refuses := s.cold && (!s.met || !o.Restarted && !o.Look)
	s.met = true
	var settled func()
	if o.Restarted && !refuses {
		s.cold, settled, s.settled = false, s.settled, nil
	}
	if !refuses && !o.Look {
		s.removed = time.Now()
	}
	s.mu.Unlock()
	if refuses {
		return backend.Swept{}, presence.ErrRestarted
	}
	swept, err := s.Store.Sweep(ctx, o)
	if settled != nil {
		settled()
	}
	return swept, err
}

// The store started again once more just before this node says that all leases were renewed, and another node has met
// it. Nobody is removed until the nodes have restored what was lost then.
func TestStartedAgainAsLeasesSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &coldStore{Store: memstore.New()}
		tracker := start(t, store, quiet)
		time.Sleep(time.Minute)
		var told time.Time
		store.mu.Lock()
		store.cold, store.met = true, false
		store.settled = func() {
			told = time.Now()
			tracker.Hear(backend.Notice{Kind: backend.NoticeLost, Lasting: true, Ago: time.Millisecond})
		}
		store.mu.Unlock()
		time.Sleep(18 * time.Second)
		store.mu.Lock()
		defer store.mu.Unlock()
		if told.IsZero() {
			t.Fatal("no sweep says that the leases were renewed")
		}
		if !store.removed.Before(told) {
			t.Errorf("a sweep removed leases %v after another node told of a loss, want none for seven seconds", store.removed.Sub(told))
		}
	})
}
