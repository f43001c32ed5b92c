package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Tests of what all transports do. Each transport has a file for the rest.

func TestStateFirst(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		s.see("site", "bob")
		l := s.follow(over, "", "alice")
		if e, _ := l.next(); e.typ != "welcome" || e.id != "" {
			t.Errorf("got %s with id %q, want a welcome without", e.typ, e.id)
		}
		state, _ := l.next()
		if d := state.data; state.typ != "state" || d.Topic != "site" || d.Total != 2 || keys(d.Users) != "alice bob" || d.Truncated {
			t.Errorf("got %+v, want the state of site with alice and bob", state)
		}
		if state.id == "" || state.id != state.data.Cursor {
			t.Errorf("got id %q and cursor %q, want them equal where there is one topic", state.id, state.data.Cursor)
		}
	})
}

// A welcome names times in seconds, also short ones.
func TestWelcome(t *testing.T) {
	for _, tt := range []struct {
		cfg  track.Config
		want [2]float64
	}{
		{track.Config{}, [2]float64{15, 10}},
		{track.Config{TTL: 600 * time.Millisecond, Grace: 300 * time.Millisecond}, [2]float64{0.2, 0.3}},
	} {
		cfg, want := tt.cfg, tt.want
		over(t, streams, func(t *testing.T, over transport) {
			s := newSite(t, setup{presence: cfg})
			d := s.follow(over, "", "alice").want("welcome").data
			if [2]float64{d.Heartbeat, d.Grace} != want || !strings.HasPrefix(d.Connection, s.tracker.Config().Node+".") {
				t.Errorf("got heartbeat %v, grace %v and connection %s, want %v and one of this node", d.Heartbeat, d.Grace, d.Connection, want)
			}
		})
	}
}

func TestComingsAndGoings(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		told := s.follow(over, "", "alice").started(1).feed()
		bob := s.follow(over, "", "bob").started(1)
		join := <-told
		if d := join.data; keys(d.Joins) != "bob" || keys(d.Leaves) != "" || d.Total != 2 || d.Prev == d.Cursor {
			t.Errorf("got %+v, want a diff in which bob joins", d)
		}
		bob.close()
		time.Sleep(9 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "bob alice" {
			t.Errorf("9 s after the stream was closed: got %q online, want bob alice: the grace is 10 s", got)
		}
		time.Sleep(2 * time.Second)
		s.sweep()
		leave := <-told
		if d := leave.data; keys(d.Leaves) != "bob" || keys(d.Joins) != "" || d.Total != 1 || d.Prev != join.data.Cursor {
			t.Errorf("got %+v, want a diff in which bob leaves, right after the one before", d)
		}
	})
}

// Each diff goes on where the one before stopped, and all of them together give
// the roster.
func TestDiffsInOrder(t *testing.T) {
	t.Parallel()
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{presence: track.Config{Age: 2 * time.Second}})
		l := s.follow(over, "observe=1", "")
		l.want("welcome")
		var page roster
		done := make(chan struct{})
		go func() {
			defer close(done)
			random := rand.New(rand.NewPCG(1, 2))
			for range 300 {
				id := presence.UserID('a' + rune(random.IntN(8)))
				if random.IntN(4) == 0 {
					s.tracker.SignOut(context.Background(), id)
				} else {
					s.tracker.Seen("site", presence.User{ID: id, Name: fmt.Sprint(random.IntN(2))}, presence.Device{})
				}
				if random.IntN(3) == 0 {
					s.tracker.Sweep(context.Background())
				}
				time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			}
			time.Sleep(3 * time.Second)
			s.tracker.Sweep(context.Background())
			s.tracker.Seen("site", presence.User{ID: "last"}, presence.Device{})
		}()
		diffs := 0
		for ; page.users["last"] == nil; diffs++ {
			e, ok := l.next()
			if !ok || e.typ == "state" && page.cursor != "" {
				t.Fatalf("got %s (%v) after %d events, want diffs until the last user comes", e.typ, ok, diffs)
			}
			page.take(t, e)
		}
		<-done
		if keys(page.users) != "last" || diffs < 50 {
			t.Errorf("got %q after %d events, want last alone after many", keys(page.users), diffs)
		}
	})
}

// Simultaneous changes of a topic are one diff.
func TestMerge(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
		l := s.follow(over, "topic=site&topic=thread:1&observe=1", "").started(2)
		for _, id := range []presence.UserID{"a", "b", "c"} {
			s.tracker.Seen("site", presence.User{ID: id}, presence.Device{})
			s.tracker.Seen("thread:1", presence.User{ID: id}, presence.Device{})
		}
		got := map[string]string{}
		for range 2 {
			d := l.want("diff").data
			got[d.Topic] += keys(d.Joins)
		}
		if got["site"] != "a b c" || got["thread:1"] != "a b c" {
			t.Errorf("got joins %q, want a b c in each topic", got)
		}
		l.quiet(time.Minute)
	})
}

// An observer and a guest see all events and are not listed.
func TestWithoutBeingHeld(t *testing.T) {
	for _, r := range []request{
		{path: "?observe=1", user: "alice"},
		{path: "?", header: map[string]string{"X-Guest": "g1"}},
	} {
		over(t, allTransports, func(t *testing.T, over transport) {
			s := newSite(t, setup{})
			r := request{path: over.path + r.path, user: r.user, header: r.header}
			l := over.open(s, r, "")
			l.want("welcome")
			if got := l.want("state").data; got.Total != 0 {
				t.Errorf("got %d online, want 0", got.Total)
			}
			s.see("site", "bob")
			if got := l.want("diff").data; keys(got.Joins) != "bob" {
				t.Errorf("got joins %q, want bob", keys(got.Joins))
			}
			l.close()
			time.Sleep(time.Second)
			if got := s.names("site"); got != "bob" {
				t.Errorf("got %q online, want bob", got)
			}
			view, err := s.tracker.View(t.Context(), "site")
			if want := len(r.header); err != nil || view.Guests != want {
				t.Errorf("got %d guests (%v), want %d", view.Guests, err, want)
			}
		})
	}
}

// A topic that is named twice is one, and counts as one.
func TestTopicNamedTwice(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		l := s.follow(over, "observe=1&stream=site&"+strings.Repeat("topic=site&", 20), "").started(1)
		l.quiet(time.Minute)
	})
}

func TestStateLimit(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		s.see("site", "a", "b", "c")
		l := s.follow(over, "observe=1&limit=2", "")
		l.want("welcome")
		if got := l.want("state").data; keys(got.Users) != "b c" || got.Total != 3 || !got.Truncated {
			t.Errorf("got %q of %d (truncated %v), want b c of 3 (true)", keys(got.Users), got.Total, got.Truncated)
		}
	})
}

// A topic that was silent for 15 s has a heartbeat, whatever the others do.
func TestHeartbeats(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
		l := s.follow(over, "topic=site&topic=thread:1&observe=1", "").started(2)
		start := time.Now()
		time.Sleep(10 * time.Second)
		s.see("site", "bob") // and is recent, a second later
		var quiet, busy []time.Duration
		for time.Since(start) < 46*time.Second {
			e, ok := l.next()
			if !ok {
				t.Fatal("the stream has ended")
			}
			if e.typ == "heartbeat" && e.data.Topic == "thread:1" {
				quiet = append(quiet, time.Since(start))
				if e.data.Cursor == "" || !strings.Contains(e.id, e.data.Cursor) {
					t.Errorf("got cursor %q in id %q, want the topic's in the connection's", e.data.Cursor, e.id)
				}
			}
			if e.data.Topic == "site" {
				busy = append(busy, time.Since(start))
			}
		}
		if want := []time.Duration{15 * time.Second, 30 * time.Second, 45 * time.Second}; !slices.Equal(quiet, want) {
			t.Errorf("the silent topic had heartbeats at %v, want %v", quiet, want)
		}
		for i := 1; i < len(busy); i++ {
			if gap := busy[i] - busy[i-1]; gap > 15*time.Second {
				t.Errorf("the other topic was silent for %v, want 15s at most", gap)
			}
		}
		early := func(d time.Duration) bool { return d > 12*time.Second && d < 25*time.Second }
		if len(busy) < 3 || slices.ContainsFunc(busy, early) {
			t.Errorf("the other topic had events at %v, want a diff at 10s, and heartbeats from 25s on", busy)
		}
	})
}

// A reader who falls far behind gets a state in the place of what it missed, and
// goes on from there.
func TestLag(t *testing.T) {
	t.Parallel()
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{presence: track.Config{MergeWindow: -1, LogSize: 100}})
		l := s.follow(over, "observe=1&limit=1000", "").started(1)
		for i := range 1500 { // within the write deadline
			s.enter(presence.User{ID: presence.UserID(fmt.Sprint("u", i%900)), Name: fmt.Sprint(i)})
			time.Sleep(5 * time.Millisecond)
		}
		var page roster
		diffs := 0
		for page.cursor == "" {
			e, ok := l.next()
			if !ok {
				t.Fatal("the stream has ended")
			}
			if e.typ == "state" {
				page.take(t, e)
			}
			diffs++
		}
		if len(page.users) != 900 || diffs > 100 {
			t.Errorf("got a state with %d users after %d events, want 900, soon", len(page.users), diffs)
		}
		s.see("site", "late")
		if e := l.want("diff"); keys(e.data.Joins) != "late" {
			t.Errorf("got joins %q, want late", keys(e.data.Joins))
		} else {
			page.take(t, e)
		}
	})
}

// While the store is out, readers have the last that was known, and are told
// that it is no more than that.
func TestStale(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		store := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: store, presence: track.Config{Logger: slog.New(slog.DiscardHandler)}})
		s.see("site", "bob")
		l := s.follow(over, "observe=1", "").started(1)
		wantStale := func(want bool) {
			t.Helper()
			for begin := time.Now(); ; {
				e, ok := l.next()
				switch {
				case !ok || time.Since(begin) > time.Minute:
					t.Fatalf("got %s (%v) after %v, want a heartbeat with stale %v", e.typ, ok, time.Since(begin), want)
				case e.typ != "heartbeat":
					t.Errorf("got %s, want nothing but heartbeats", e.typ)
				case e.data.Stale == want:
					if e.data.Total != 1 {
						t.Errorf("got a total of %d, want 1", e.data.Total)
					}
					return
				}
			}
		}
		wantStale(false)
		store.Break(presencetest.Fault{Err: errors.New("it is out")})
		wantStale(true)
		late := s.follow(over, "", "alice")
		late.want("welcome")
		if got := late.want("state").data; !got.Stale || keys(got.Users) != "bob" {
			t.Errorf("who comes now gets %q (stale %v), want bob (true)", keys(got.Users), got.Stale)
		}
		late.close()
		store.Heal()
		for e, ok := l.next(); !ok || e.data.Stale; e, ok = l.next() {
		}
	})
}
