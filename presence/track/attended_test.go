package track_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// wantAttended asks two nodes, a and b, about alice.
func wantAttended(t *testing.T, what string, nodes [2]*track.Tracker, want bool) {
	t.Helper()
	synctest.Wait()
	for i, node := range nodes {
		if at, err := node.Attended(t.Context(), "alice"); at != want || err != nil {
			t.Errorf("%s: node %d: got %v %v, want %v", what, i, at, err, want)
		}
	}
}

// attendedSites are two nodes with and without a Directory. choose has alice choose a status.
func attendedSites(t *testing.T, test func(t *testing.T, nodes [2]*track.Tracker, choose func(presence.Status))) {
	for name, directory := range map[string]bool{"directory": true, "roster": false} {
		bubble(t, name, func(t *testing.T) {
			var config track.Config
			if directory {
				config.Directory = presencetest.NewMemoryDirectory()
			}
			store := memstore.New()
			nodes := [2]*track.Tracker{start(t, store, config), start(t, store, config)}
			time.Sleep(time.Minute) // a node that starts cannot tell who is gone
			for _, node := range nodes {
				_, _ = node.View(t.Context(), presence.Site)
			}
			test(t, nodes, func(s presence.Status) {
				t.Helper()
				noError(t, nodes[1].SetStatus(t.Context(), "alice", s))
				time.Sleep(time.Second)
			})
		})
	}
}

// F11: a user is attended while a page is open and somebody is there, on every node, and
// whatever status the user chose.
func TestAttended(t *testing.T) {
	for _, status := range []presence.Status{presence.Online, presence.Busy, presence.Invisible} {
		t.Run(string(status), func(t *testing.T) {
			attendedSites(t, func(t *testing.T, nodes [2]*track.Tracker, choose func(presence.Status)) {
				choose(status)
				wantAttended(t, "before", nodes, false)
				connect(t, nodes[1], track.ConnectOptions{Visitor: on("albert", "1")}) // an id before hers
				page := connect(t, nodes[0], track.ConnectOptions{Visitor: on("alice", "1")})
				connect(t, nodes[1], track.ConnectOptions{Visitor: on("alicf", "1")})
				time.Sleep(time.Second)
				wantAttended(t, "a page", nodes, true)
				page.Close()
				time.Sleep(time.Minute)
				wantAttended(t, "closed", nodes, false)
			})
		})
	}
}

// A user who is at none of the pages is not attended; one page is enough.
func TestAttendedIdle(t *testing.T) {
	attendedSites(t, func(t *testing.T, nodes [2]*track.Tracker, _ func(presence.Status)) {
		var pages [2]*track.Connection
		beat := func(minutes int, idle ...bool) {
			for range 6 * minutes {
				for i, is := range idle {
					nodes[i].Beat(t.Context(), pages[i].Token(), visitor("alice"), idlePage(is))
				}
				time.Sleep(10 * time.Second)
			}
		}
		for i, device := range []presence.DeviceID{"1", "2"} {
			pages[i] = connect(t, nodes[i], track.ConnectOptions{Visitor: on("alice", device)})
		}
		beat(1, true, false)
		wantAttended(t, "at one of two", nodes, true)
		beat(6, true, true) // longer than a node remembers that somebody was there
		wantAttended(t, "at none", nodes, false)
		beat(1, false, true)
		wantAttended(t, "back", nodes, true)
	})
}

// A machine that sleeps holds its connection for a while, and nobody online.
func TestAttendedAsleep(t *testing.T) {
	attendedSites(t, func(t *testing.T, nodes [2]*track.Tracker, _ func(presence.Status)) {
		connect(t, nodes[0], track.ConnectOptions{Visitor: on("alice", "1"), Beat: true})
		wantAttended(t, "awake", nodes, true)
		time.Sleep(2 * time.Minute)
		wantAttended(t, "asleep", nodes, false)
	})
}

// Where nobody can tell, it says so: a digest waits.
func TestAttendedUnknown(t *testing.T) {
	for name, directory := range map[string]bool{"directory": true, "roster": false} {
		bubble(t, name, func(t *testing.T) {
			var config track.Config
			people := presencetest.NewMemoryDirectory()
			if directory {
				config.Directory = people
			}
			store := &cutStore{Store: memstore.New()}
			node := start(t, store, config)
			connect(t, node, track.ConnectOptions{Visitor: on("bob", "1")})
			connect(t, start(t, store.Store, config), track.ConnectOptions{Visitor: on("carol", "1")})
			time.Sleep(time.Minute)
			want := func(what string, user presence.UserID, at bool, want error) {
				t.Helper()
				if got, err := node.Attended(t.Context(), user); got != at || !errors.Is(err, want) {
					t.Errorf("%s: got %v %v, want %v %v", what, got, err, at, want)
				}
			}
			want("in order", "alice", false, nil)
			want("no user", "", false, presence.ErrInvalidUser)
			store.cut.Store(true)
			time.Sleep(time.Minute)
			want("the store is out", "alice", false, presence.ErrStoreOut)
			want("the store is out, and she was there", "carol", false, presence.ErrStoreOut)
			want("the store is out, and the page is here", "bob", true, nil)
			store.cut.Store(false)
			time.Sleep(3 * time.Second)
			want("it came back a moment ago", "alice", false, presence.ErrStoreOut)
			time.Sleep(time.Minute)
			want("in order again", "alice", false, nil)
			if !directory {
				return
			}
			people.Fail(errors.New("down"))
			_, _ = node.People().Find(context.Background(), "bob", "eve")
			want("users cannot be announced", "alice", false, presence.ErrDirectoryOut)
		})
	}
}

// A store that lost its data and has it back knows less than it seems.
func TestAttendedWipe(t *testing.T) {
	attendedWipe := func(t *testing.T, config track.Config) {
		store := newSwapStore()
		nodes := [2]*track.Tracker{start(t, store, config), start(t, store, config)}
		connect(t, nodes[0], track.ConnectOptions{Visitor: on("alice", "1")})
		lost := user("lost") // whom a node holds that does not put leases back
		nodes[0].DeviceOn(lost, device("d", presence.Desktop), presence.Settings{}, time.Time{})
		store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{{Kind: backend.OpJoin, User: lost, Holder: "x.d", For: time.Hour}}}})
		time.Sleep(time.Minute)
		wantAttended(t, "before", nodes, true)
		store.wipe()
		doubted := false
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			_, err := nodes[1].Attended(t.Context(), "carol")
			doubted = doubted || errors.Is(err, presence.ErrStoreOut)
			if at, err := nodes[1].Attended(t.Context(), "alice"); !at && err == nil {
				t.Fatal("got not attended, want attended or an error")
			}
		}
		wantAttended(t, "a minute later", nodes, true)
		if !doubted {
			t.Error("got no doubt about a user of whom the data may be lost")
		}
	}
	bubble(t, "directory", func(t *testing.T) {
		attendedWipe(t, track.Config{Directory: presencetest.NewMemoryDirectory()})
	})
	t.Run("roster", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { attendedWipe(t, track.Config{}) })
	})
}
