package track_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A slowEraser counts the erasures that are under way in a store, and keeps their ends.
type slowEraser struct {
	backend.Store
	mu        sync.Mutex
	now, most int
	ended     []presence.UserID
}

func (s *slowEraser) EraseUser(ctx context.Context, e backend.Erasure) error {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	time.Sleep(100 * time.Millisecond)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	return s.Store.EraseUser(ctx, e)
}

func (s *slowEraser) EndErasure(ctx context.Context, e backend.Erasure) error {
	s.mu.Lock()
	s.ended = append(s.ended, e.User)
	s.mu.Unlock()
	return s.Store.EndErasure(ctx, e)
}

// wantEnded checks that erasures are done: a node whose claim is over may do one that another node does too.
func (s *slowEraser) wantEnded(t *testing.T, want int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) < want {
		t.Errorf("got %d erasures that are done, want %d at least", len(s.ended), want)
	}
}

// Of many erasures few passes run at a time. The others wait in their order, and end the
// connections of their users at once. Afterwards an erasure is done at once again.
func TestEraseMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowEraser{Store: memstore.New()}
		a := start(t, store, track.Config{Node: "a"})
		last := connect(t, a, track.ConnectOptions{Visitor: visitor("u199"), Topics: []presence.Topic{presence.Site}})
		time.Sleep(time.Second)
		var all sync.WaitGroup
		for i := range 200 { // 20 a second
			all.Go(func() { noError(t, a.Erase(t.Context(), presence.UserID(fmt.Sprint("u", i)))) })
			time.Sleep(50 * time.Millisecond)
		}
		all.Wait()
		if last.Err() == nil {
			t.Error("the connection of the last user goes on")
		}
		time.Sleep(time.Minute)
		store.mu.Lock()
		if store.most > 4 {
			t.Errorf("got %d passes at a time, want 4 at most", store.most)
		}
		for i, user := range store.ended {
			var n int
			if fmt.Sscanf(string(user), "u%d", &n); n < i-4 || n > i+4 {
				t.Errorf("got %s as number %d", user, i)
			}
		}
		if len(store.ended) != 200 {
			t.Errorf("got %d erasures, want 200", len(store.ended))
		}
		store.mu.Unlock()
		noError(t, a.Erase(t.Context(), "alice"))
		time.Sleep(7 * time.Second)
		store.mu.Lock()
		defer store.mu.Unlock()
		if len(store.ended) != 201 {
			t.Errorf("got %d erasures, want one more", len(store.ended))
		}
	})
}

// Repeated erasures of a user do not fill the queue. One erasure of a user runs at a time and one
// more waits. Further calls share the one that waits, which also removes what was written meanwhile.
func TestEraseAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowEraser{Store: memstore.New()}
		a := start(t, store, track.Config{Node: "a"})
		time.Sleep(time.Second)
		var all sync.WaitGroup
		for i := range 1200 { // 20 a second
			all.Go(func() { noError(t, a.Erase(t.Context(), "mallory")) })
			time.Sleep(50 * time.Millisecond)
			switch i {
			case 600:
				all.Go(func() { noError(t, a.Erase(t.Context(), "alice")) })
			case 600 + 20*8:
				store.mu.Lock()
				if !slices.Contains(store.ended, "alice") {
					t.Error("eight seconds later alice is not erased")
				}
				store.mu.Unlock()
			}
		}
		all.Wait()
		last := connect(t, a, track.ConnectOptions{Visitor: visitor("mallory")})
		noError(t, a.Erase(t.Context(), "mallory"))
		if last.Err() == nil {
			t.Error("the connection goes on")
		}
		time.Sleep(time.Minute)
		store.mu.Lock()
		defer store.mu.Unlock()
		if n := len(store.ended); n < 3 || n > 30 {
			t.Errorf("got %d erasures, want a few", n)
		}
		left, err := store.ClaimErasures(t.Context(), 100, 0)
		if err != nil || len(left) > 0 {
			t.Errorf("got %+v in the list, and error %v", left, err)
		}
	})
}
