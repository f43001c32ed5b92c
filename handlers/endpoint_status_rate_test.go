package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// A user has one rate for statuses, over all sockets and requests. A socket that sends too
// many stays open.
func TestStatusRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &noticesStore{Store: memstore.New()}
		s := newSite(t, setup{store: store})
		var sockets [32]talker
		var errors atomic.Int64
		for i := range sockets {
			sockets[i] = s.talk(request{path: "ws?observe=1", user: "alice"})
			go func() {
				for e, ok := sockets[i].next(); ok; e, ok = sockets[i].next() {
					if e.typ == "error" && e.data.Title == "Too Many Requests" {
						errors.Add(1)
					}
				}
			}()
		}
		s.listen(request{path: "events", user: "carol"}).started(1).drain()
		s.tracker.Seen("site", presence.User{ID: "alice"}, presence.Device{})
		time.Sleep(time.Second)
		said := []string{"away", "busy"}
		n := 0
		for range 10 { // tenths of a second
			for i := range sockets {
				sockets[i].say(fmt.Sprintf(`{"type":"status","status":%q}`, said[n%2]))
				n++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got := store.statuses.Load(); got != 5 {
			t.Errorf("got %d changes in a second of %d messages, want a burst of 5, and one a second", got, n)
		}
		if got := errors.Load(); got < 100 {
			t.Errorf("got %d errors, want most messages answered by one", got)
		}
		if got := s.handler.Stats(); got.Connections.WebSocket != 32 || got.Limited != uint64(errors.Load()) {
			t.Errorf("got %d sockets open and %d limited, want 32 and %d", got.Connections.WebSocket, got.Limited, errors.Load())
		}
		for s.handler.Stats().Limited == uint64(errors.Load()) { // by now there is one again
			s.fetch(request{method: http.MethodPut, path: "status", user: "alice", body: fmt.Sprintf(`{"status":%q}`, said[n%2])})
			n++
		}
		s.wantLimited(request{method: http.MethodPut, path: "status", user: "alice", body: `{"status":"invisible"}`})
		time.Sleep(time.Second)
		if resp, body := s.fetch(request{method: http.MethodPut, path: "status", user: "alice", body: `{"status":"invisible"}`}); resp.StatusCode != http.StatusNoContent {
			t.Errorf("a second later: got %d (%s), want 204", resp.StatusCode, body)
		}
		if resp, _ := s.fetch(request{method: http.MethodPut, path: "status", user: "carol", body: `{"status":"away"}`}); resp.StatusCode != http.StatusNoContent {
			t.Errorf("another user: got %d, want 204", resp.StatusCode)
		}
		sockets[0].say(`{"type":"heartbeat"}`)
		for range 21 {
			sockets[1].say(`{"type":"heartbeat"}`)
		}
		time.Sleep(2 * time.Second)
		if got := s.handler.Stats().Connections.WebSocket; got != 31 {
			t.Errorf("got %d sockets open after one said 21 things in a second, want 31", got)
		}
	})
}

// The status that a user has is told again, since this node may not have heard yet of
// another one. Readers see no change.
func TestStatusAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &noticesStore{Store: memstore.New()}
		s := newSite(t, setup{store: store})
		diffs := s.listen(request{path: "events?observe=1"}).started(1).feed()
		s.tracker.Seen("site", presence.User{ID: "alice"}, presence.Device{})
		for range 5 {
			s.choose("alice", "away")
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if got := len(diffs); got > 2 {
			t.Errorf("got %d diffs, want alice's join, and that she is away", got)
		}
		if got := store.statuses.Load(); got != 5 {
			t.Errorf("got %d statuses told, want 5", got)
		}
	})
}

// A node that has not heard what its user chose at another one hides the user all the
// same.
func TestStatusBehindAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		behind, other := newSite(t, setup{store: deafStore{store}}), newSite(t, setup{store: store})
		other.listen(request{path: "events?observe=1"}).started(1).drain()
		behind.choose("alice", "invisible")
		other.choose("alice", "online")
		other.tracker.Seen("site", presence.User{ID: "alice"}, presence.Device{})
		time.Sleep(time.Second)
		if got := other.names("site"); got != "alice" {
			t.Fatalf("got %q online, want alice", got)
		}
		behind.choose("alice", "invisible")
		time.Sleep(time.Second)
		if got := other.names("site"); got != "" {
			t.Errorf("got %q online after alice chose to be invisible, want nobody", got)
		}
	})
}

// choose sets the status of a user.
func (s *site) choose(user, status string) {
	s.t.Helper()
	r := request{method: http.MethodPut, path: "status", user: user, body: fmt.Sprintf(`{"status":%q}`, status)}
	if resp, body := s.fetch(r); resp.StatusCode != http.StatusNoContent {
		s.t.Fatalf("%s chose %s: got %d (%s), want 204", user, status, resp.StatusCode, body)
	}
}

// deafStore hears no notice of another node.
type deafStore struct{ backend.Store }

func (deafStore) Listen(context.Context, func(backend.Notice)) (stop func(), err error) {
	return func() {}, nil
}

func TestStatusRateOff(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{MaxRate: -1}}, func(t *testing.T, s *site) {
		for i := range 100 {
			r := request{method: http.MethodPut, path: "status", user: "alice", body: fmt.Sprintf(`{"status":%q}`, []string{"away", "busy"}[i%2])}
			if resp, body := s.fetch(r); resp.StatusCode != http.StatusNoContent {
				t.Fatalf("got %d (%s), want 204", resp.StatusCode, body)
			}
		}
	})
}

// noticesStore counts the statuses that the store took. A status that crosses another one is
// refused first (rule 10), and then put again: that is one.
type noticesStore struct {
	backend.Store
	statuses atomic.Int64
}

func (n *noticesStore) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	rev, err := n.Store.PutStatus(ctx, user, c, again)
	if err == nil {
		n.statuses.Add(1)
	}
	return rev, err
}
