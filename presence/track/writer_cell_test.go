package track_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A recordingStore notes what it applies of alice but heartbeats, and applies nothing while it is out.
type recordingStore struct {
	*memstore.Store
	mu    sync.Mutex
	out   bool
	lines []string
}

func (s *recordingStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out {
		results := make([]backend.Result, len(batches))
		for i := range results {
			results[i].Err = presence.ErrStoreOut
		}
		return results
	}
	for _, b := range batches {
		for _, op := range b.Ops {
			if op.User.ID == "alice" && op.Kind != backend.OpHeartbeat {
				s.lines = append(s.lines, opLine(op))
			}
		}
	}
	return s.Store.Apply(ctx, batches)
}

func (s *recordingStore) setOut(out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = out
}

func (s *recordingStore) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return strings.Join(lines, ", ")
}

// opLine names an operation, with the status that it tells and, to ten seconds, when it happened: the writer tries every two seconds.
func opLine(op backend.Op) string {
	name := map[backend.OpKind]string{
		backend.OpJoin: "join", backend.OpSeen: "seen", backend.OpRelease: "release",
		backend.OpSignOut: "signout", backend.OpUpdate: "update", backend.OpKeep: "keep", backend.OpSignOff: "signoff",
	}[op.Kind]
	if op.User.Status != "" {
		name += " " + string(op.User.Status)
	}
	ago := op.Ago
	if op.Kind == backend.OpJoin || op.Kind == backend.OpKeep {
		ago = op.Joined
	}
	if op.Pages > 1 {
		name += fmt.Sprintf(" %d pages", op.Pages)
	}
	if ago >= time.Second {
		name += fmt.Sprintf(" %v ago", ago.Round(10*time.Second))
	}
	return name
}

// What a flush writes is what the node holds then, whatever came and went while the store was out.
func TestAFlushWritesWhatTheNodeHolds(t *testing.T) {
	type node struct {
		*testing.T
		*track.Tracker
	}
	open := func(n node) *track.Connection {
		c, err := n.Connect(n.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
		noError(n.T, err)
		n.Cleanup(c.Close)
		return c
	}
	signOut := func(n node) {
		ctx, cancel := context.WithTimeout(n.Context(), time.Millisecond)
		defer cancel()
		_ = n.SignOut(ctx, "alice") // the store is out
	}
	for _, tc := range []struct {
		name string
		does func(n node, page *track.Connection) // while the store is out; page was open before
		want string
	}{
		{"nothing", func(n node, page *track.Connection) {}, ""},
		{"a second page", func(n node, page *track.Connection) { open(n) }, "join 2 pages 1m0s ago"},
		{"a page that comes and goes a thousand times", func(n node, page *track.Connection) {
			for range 1000 {
				open(n).Close()
			}
		}, "join 1m10s ago"},
		{"the page closes", func(n node, page *track.Connection) { page.Close() }, "release 1m0s ago"},
		{"the page closes, and the next opens", func(n node, page *track.Connection) {
			page.Close()
			time.Sleep(5 * time.Second)
			open(n)
		}, "join 1m0s ago"},
		{"the next page opens, and both close", func(n node, page *track.Connection) {
			next := open(n)
			page.Close()
			time.Sleep(40 * time.Second)
			next.Close()
		}, "join 1m0s ago, release 20s ago"},
		{"the page closes at once after one that closed with a grace", func(n node, page *track.Connection) {
			next := open(n)
			page.Close()
			next.Drop()
		}, "release 1m0s ago"},
		{"the page is dropped", func(n node, page *track.Connection) { page.Drop() }, "release 1m10s ago"},
		{"many page views", func(n node, page *track.Connection) {
			for range 100 {
				n.Seen(presence.Site, user("alice"), presence.Device{})
				time.Sleep(100 * time.Millisecond)
			}
		}, "seen 50s ago"},
		{"a page view and the next page", func(n node, page *track.Connection) {
			n.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(time.Second)
			open(n)
		}, "join 2 pages 1m0s ago, seen 1m0s ago"},
		{"a page and a view after it", func(n node, page *track.Connection) {
			open(n)
			time.Sleep(time.Microsecond)
			n.Seen(presence.Site, user("alice"), presence.Device{})
		}, "join 2 pages 1m0s ago, seen 1m0s ago"},
		{"a sign-out", func(n node, page *track.Connection) {
			n.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(5 * time.Second)
			signOut(n)
		}, "release 1m0s ago, signout 1m0s ago"},
		{"two sign-outs, and the next page", func(n node, page *track.Connection) {
			signOut(n)
			time.Sleep(5 * time.Second)
			signOut(n)
			time.Sleep(5 * time.Second)
			open(n)
		}, "join 50s ago, signout 1m0s ago"},
		{"a page that closed before a sign-out leaves no grace", func(n node, page *track.Connection) {
			page.Close()
			time.Sleep(time.Second)
			signOut(n)
		}, "release 1m0s ago, signout 1m0s ago"},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			store := &recordingStore{Store: memstore.New()}
			n := node{t, start(t, store, track.Config{Age: 10 * time.Minute})}
			page := open(n)
			time.Sleep(5 * time.Second)
			store.take()
			store.setOut(true)
			began := time.Now()
			tc.does(n, page)
			if got := n.Stats().Pending; got > 1 {
				t.Errorf("%d cells wait, want one of alice", got)
			}
			time.Sleep(time.Until(began.Add(time.Minute)))
			store.setOut(false)
			time.Sleep(3 * time.Second)
			if got := store.take(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A user whose choice nobody can tell is not announced. All else of the user is written at once: nobody waits for it.
func TestWhatNeedsNoChoiceIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		d.directory.Fail(errors.New("out"))
		page := connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		d.a.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Minute)
		wantOnline(t, d)
		began := time.Now()
		noError(t, d.a.SignOut(t.Context(), "alice"))
		if took := time.Since(began); took > time.Second {
			t.Errorf("the sign-out took %v, want at once", took)
		}
		if page.Err() == nil {
			t.Error("the page is open, whose user signed out")
		}
		d.directory.Fail(nil)
		time.Sleep(10 * time.Second)
		wantOnline(t, d)
		if got := d.a.Stats().Pending; got != 0 {
			t.Errorf("%d cells wait, want none", got)
		}
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		wantOnline(t, d, "alice")
	})
}
