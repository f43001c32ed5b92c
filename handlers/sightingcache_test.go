package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// Kept sightings are dropped also without further requests.
func TestSightingsAreForgotten(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.fetch(request{path: "users?id=alice"})
		time.Sleep(900 * time.Millisecond)
		s.fetch(request{path: "users?id=bob"})
		if got := s.handler.KeptSightings(); got != 2 {
			t.Fatalf("got %d answers kept, want 2", got)
		}
		time.Sleep(3 * time.Second)
		if got := s.handler.KeptSightings(); got != 0 {
			t.Errorf("got %d answers kept 3 s later, want none", got)
		}
	})
}

// The store's answers about users who are not online are kept for a short time, empty ones
// too.
func TestSightingsAreKept(t *testing.T) {
	const users = "users?id=a&id=b&id=c"
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: memstore.New()}
		s := newSite(t, setup{store: store, handlers: handlers.Config{MaxRate: -1}})
		s.see("site", "alice")
		s.tracker.SignOut(t.Context(), "alice")
		s.sweep()
		for i := range 100 {
			if i == 50 {
				time.Sleep(time.Second)
			}
			if resp, body := s.fetch(request{path: users + "&id=alice"}); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"alice":{"online":false,"last_seen"`) {
				t.Fatalf("got %d %s, want that alice was seen", resp.StatusCode, body)
			}
		}
		if got := store.sightings.Load(); got != 2 {
			t.Errorf("got %d calls of the store for 100 requests in a second, want 2", got)
		}
	})
	synctest.Test(t, func(t *testing.T) { // and that is bounded
		store := &countingStore{Store: memstore.New()}
		s := newSite(t, setup{store: store, handlers: handlers.Config{MaxRate: -1}})
		for i := range 300 {
			s.fetch(request{path: "users?" + manyParams(fmt.Sprint("id=u", i, "-%d"), 100)})
		}
		if got := s.handler.KeptSightings(); got > handlers.MaxSightings || got < handlers.MaxSightings/2 {
			t.Errorf("got %d kept, want %d at most", got, handlers.MaxSightings)
		}
	})
}

// countingStore counts the calls that ask for sightings.
type countingStore struct {
	backend.Store
	sightings atomic.Int64
}

func (c *countingStore) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	c.sightings.Add(1)
	return c.Store.Sightings(ctx, topic, users...)
}
