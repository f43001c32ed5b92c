package track_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A call of the store that was given up may still read its batches, so what comes while they
// wait for the next try changes a copy.
func TestFailedBatchesDoNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &keepingStore{Store: memstore.New(), out: true}
		tracker := start(t, store, track.Config{})
		for i := range 20 {
			tracker.Seen(presence.Site, presence.User{ID: "alice", Name: string(rune('a' + i))}, presence.Device{})
			time.Sleep(100 * time.Millisecond)
		}
		store.mu.Lock()
		store.out = false
		given := store.given
		store.mu.Unlock()
		time.Sleep(5 * time.Second)
		if len(given) < 3 {
			t.Fatalf("the store got %d calls, want some that fail", len(given))
		}
		for i, g := range given {
			if !reflect.DeepEqual(g.later, g.then) {
				t.Errorf("call %d: the batch is %+v now, and was %+v", i, g.later, g.then)
			}
		}
		if view, err := tracker.View(t.Context(), presence.Site); err != nil || view.Total != 1 {
			t.Errorf("after the outage: got total %d and error %v, want 1", view.Total, err)
		}
	})
}

// keepingStore fails while it is out, and keeps what it was given.
type keepingStore struct {
	*memstore.Store
	mu    sync.Mutex
	out   bool
	given []givenOps
}

type givenOps struct{ later, then []backend.Op }

func (s *keepingStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.out {
		return s.Store.Apply(ctx, batches)
	}
	results := make([]backend.Result, len(batches))
	for i, b := range batches {
		s.given = append(s.given, givenOps{b.Ops, append([]backend.Op(nil), b.Ops...)})
		results[i].Err = presence.ErrStoreOut
	}
	return results
}
