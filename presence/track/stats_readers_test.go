package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The lag is from the arrival of a change to the write: the first change after a quiet
// moment has none, one that is merged waits for the window, and a state or a heartbeat is
// no change.
func TestStatsOfScreenLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MergeWindow: 400 * time.Millisecond})
		conn := connect(t, tracker, track.ConnectOptions{})
		want := func(what string, count uint64, sum time.Duration) {
			t.Helper()
			if got := tracker.Stats().ScreenLag; got.Count != count || time.Duration(got.Sum) != sum {
				t.Errorf("%s: got %d of %v, want %d of %v", what, got.Count, time.Duration(got.Sum), count, sum)
			}
		}
		write := func() {
			conn.Events(nil)
			conn.Written()
		}
		write()
		want("a state", 0, 0)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(100 * time.Millisecond)
		write()
		want("alice, read after 97 ms", 1, 97*time.Millisecond)
		tracker.Seen(presence.Site, user("bob"), presence.Device{}) // arrives 103 ms after alice
		time.Sleep(100 * time.Millisecond)
		tracker.Seen(presence.Site, user("carol"), presence.Device{}) // merged with him
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		write()
		want("bob, read 997 ms after he came", 2, (97+997)*time.Millisecond)
		write()
		want("nothing", 2, (97+997)*time.Millisecond)
	})
}

// In a group the lag counts once for all readers, when the last of them was written to,
// from the oldest change on.
func TestStatsOfScreenLagInAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		group := track.NewGroup()
		for range 100 {
			conn := connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{presence.Site, "thread:1"}})
			group.Add(conn)
			conn.Events(nil)
		}
		group.Woken(nil)
		group.Written()
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(10 * time.Millisecond)
		tracker.Seen("thread:1", user("bob"), presence.Device{})
		time.Sleep(20 * time.Millisecond)
		for _, conn := range group.Woken(nil) {
			conn.Events(nil)
			conn.Written() // is the group's to say
		}
		time.Sleep(5 * time.Millisecond)
		group.Written()
		group.Written()
		if got := tracker.Stats().ScreenLag; got.Count != 1 || time.Duration(got.Sum) != 32*time.Millisecond {
			t.Errorf("got %d of %v, want one of the 32 ms since alice came", got.Count, time.Duration(got.Sum))
		}
	})
}

// Over the roster limit totals wait for a second on purpose, which is no lag.
func TestStatsOfScreenLagLeaveOutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxRoster: 1})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		time.Sleep(5 * time.Second)
		conn := connect(t, tracker, track.ConnectOptions{})
		conn.Events(nil)
		tracker.Seen(presence.Site, user("carol"), presence.Device{})
		time.Sleep(5 * time.Second)
		events := conn.Events(nil)
		conn.Written()
		if got := tracker.Stats().ScreenLag; len(events) == 0 || events[0].Type != presence.EventCount || got.Count != 0 {
			t.Errorf("got %d values and the events %v, want none for a count", got.Count, events)
		}
	})
}

// Readers that come with a cursor count by what they got, others do not.
func TestStatsOfResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{LogSize: 2})
		first := connect(t, tracker, track.ConnectOptions{})
		first.Events(nil)
		at := first.Cursor()
		read := func(cursor presence.Cursor, diffs, states uint64) {
			t.Helper()
			connect(t, tracker, track.ConnectOptions{Cursor: cursor}).Events(nil)
			if got := tracker.Stats(); got.ResumedByDiff != diffs || got.ResumedByState != states {
				t.Errorf("got %d by a diff and %d by a state, want %d and %d", got.ResumedByDiff, got.ResumedByState, diffs, states)
			}
		}
		read("", 0, 0)
		read(at, 1, 0) // nothing was missed
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Second)
		read(at, 2, 0)
		for _, id := range []string{"bob", "carol", "dave"} {
			tracker.Seen(presence.Site, user(id), presence.Device{})
			time.Sleep(time.Second)
		}
		read(at, 2, 1)
		first.WantState(presence.Site)
		first.Events(nil)
		read("", 2, 1)
	})
}

// A beat counts by the way it came, if it renewed a user's lease.
func TestStatsOfBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		other := start(t, store, track.Config{Secret: nil})
		want := func(what string, requests, streams uint64) {
			t.Helper()
			if got := tracker.Stats(); got.BeatsByRequest != requests || got.BeatsByStream != streams {
				t.Errorf("%s: got %d by requests and %d by streams, want %d and %d", what, got.BeatsByRequest, got.BeatsByStream, requests, streams)
			}
		}
		beats := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		guest := connect(t, tracker, track.ConnectOptions{Visitor: presence.Visitor{Guest: "g"}})
		foreign := connect(t, other, track.ConnectOptions{Visitor: visitor("bob"), Beat: true})
		beat := func(token presence.Token) {
			_, _ = tracker.Beat(t.Context(), token, presence.Visitor{}, track.Page{})
		}
		time.Sleep(16 * time.Second)
		want("a page that is to beat, and a guest", 0, 0)
		beat(beats.Token())
		beat(foreign.Token())
		want("two beats, one of another node's page", 2, 0)
		beat(guest.Token())
		beat("made up")
		want("a guest and a token that is none", 2, 0)
		beats.Beat()
		guest.Beat()
		want("a message over a stream", 2, 1)
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("carol")})
		time.Sleep(3 * time.Minute)
		want("a stream that proves itself, after two heartbeats", 2, 3)
		beats.Close()
		beat(beats.Token())
		want("a connection that has ended", 2, 3)
	})
}

// The lag of sweeps grows while none succeeds, and while one leaves something behind.
func TestStatsOfSweepLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker, err := track.New(faults, track.Config{})
		noError(t, err)
		defer tracker.Close(t.Context())
		want := func(what string, lag time.Duration) {
			t.Helper()
			if got := tracker.Stats().SweepLag; got != lag {
				t.Errorf("%s: got %v, want %v", what, got, lag)
			}
		}
		time.Sleep(time.Minute)
		want("nobody sweeps", time.Minute)
		_, _ = tracker.Sweep(t.Context())
		want("a sweep", 0)
		time.Sleep(10 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallSweep)
		_, _ = tracker.Sweep(t.Context())
		want("a sweep that failed", 10*time.Second)
		faults.Heal()
		_, _ = tracker.Sweep(t.Context()) // finds the store in order, and removes nothing
		for i := range 10_001 {
			tracker.Seen(presence.Site, user(string(rune('a'+i%26))+time.Duration(i).String()), presence.Device{})
		}
		time.Sleep(6 * time.Minute)
		if swept, err := tracker.Sweep(t.Context()); err != nil || !swept.More {
			t.Fatalf("got %+v, %v, want more to be left", swept, err)
		}
		want("a sweep that left some", 6*time.Minute+10*time.Second)
		_, _ = tracker.Sweep(t.Context())
		want("the next sweep", 0)
	})
}

// Windows count while somebody reads them, and for a moment longer, as a poll comes back. Readers of the same one
// share it.
func TestStatsCountWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		window := func(users int, also ...presence.UserID) *track.Connection {
			return connect(t, tracker, track.ConnectOptions{Observe: true, Window: track.Window{Users: users, Also: also}})
		}
		want := func(n int) {
			t.Helper()
			if got := tracker.Stats().Windows; got != n {
				t.Errorf("got %d windows, want %d", got, n)
			}
		}
		connect(t, tracker, track.ConnectOptions{Observe: true})
		want(0)
		for _, c := range []*track.Connection{window(2), window(2), window(3), window(2, "bob", "alice"), window(2, "alice", "bob")} {
			defer c.Close()
		}
		want(3)
		last := window(4)
		want(4)
		last.Close()
		for _, id := range []string{"alice", "bob"} {
			time.Sleep(20 * time.Second)
			tracker.Seen(presence.Site, user(id), presence.Device{})
		}
		time.Sleep(time.Second)
		want(3)
		noError(t, tracker.Close(t.Context()))
		want(0)
	})
}
