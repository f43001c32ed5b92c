package track_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A store that lost its data gets page views and connections back from several nodes, in any
// order. A page view still ends with the page that joined a connection after it, and a later one
// goes on.
func TestRestoredViewEndsWithItsPage(t *testing.T) {
	for name, nodes := range map[string][4]int{ // of the page view, of the stream, of the beat that says that the page joined, and of who watches
		"one node":                                         {0, 0, 0, 0},
		"the stream at another node":                       {0, 1, 1, 0},
		"the beat at another node":                         {0, 0, 1, 0},
		"three nodes":                                      {0, 1, 2, 0},
		"one node, watched from another":                   {0, 0, 0, 1},
		"the stream at another node, which alone watches":  {0, 1, 1, 1},
		"the beat at another node, which alone watches":    {0, 0, 1, 1},
		"three nodes, of which that of the stream watches": {0, 1, 2, 1},
		"three nodes, of which that of the beat watches":   {0, 1, 2, 2},
		"two nodes, and a third that watches":              {0, 1, 1, 2},
	} {
		bubble(t, name, func(t *testing.T) {
			store := &noticingStore{swapStore: newSwapStore()}
			var all []*track.Tracker
			for _, name := range []string{"a", "b", "c"} {
				all = append(all, start(t, store, track.Config{Node: name}))
			}
			view, stream, join := all[nodes[0]], all[nodes[1]], all[nodes[2]]
			w := watch(t, all[nodes[3]])
			carol := connect(t, stream, track.ConnectOptions{Visitor: visitor("carol"), Beat: true})
			bob := connect(t, stream, track.ConnectOptions{Visitor: visitor("bob"), Beat: true})
			alice := connect(t, stream, track.ConnectOptions{Visitor: visitor("alice"), Beat: true}) // her next page view is of a browser without script
			time.Sleep(20 * time.Second)
			for _, u := range []string{"alice", "bob", "carol"} {
				view.Seen(presence.Site, user(u), presence.Device{})
			}
			time.Sleep(300 * time.Millisecond)
			joined := map[string]*track.Connection{"carol": carol, "bob": bob}
			for u, c := range joined {
				if alive, err := join.Beat(t.Context(), c.Token(), visitor(u), track.Page{Joined: true}); !alive || err != nil {
					t.Fatalf("%s: got %v and %v, want a beat", u, alive, err)
				}
			}
			time.Sleep(time.Second)

			store.wipe()
			store.missed()
			for range 2 {
				time.Sleep(10 * time.Second)
				for u, c := range map[string]*track.Connection{"carol": carol, "bob": bob, "alice": alice} {
					if alive, err := all[0].Beat(t.Context(), c.Token(), visitor(u), track.Page{}); !alive || err != nil {
						t.Errorf("%s: got %v and %v, want a beat", u, alive, err)
					}
				}
			}
			bob.Close()
			time.Sleep(49 * time.Second) // the others' machines have vanished
			w.read()
			if got := slices.Sorted(maps.Keys(w.roster["site"])); !slices.Equal(got, []string{"alice"}) {
				t.Errorf("got %q online, want alice, by a page view that is later than her stream: %q", got, w.lines)
			}
		})
	}
}

// A connection that left a topic and came back is there after a loss of data: nothing ends its lease again.
func TestRestoredTopicThatAConnectionLeftBefore(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newSwapStore()
		a := start(t, store, track.Config{Node: "a"})
		w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"site", "thread:1"}})
		time.Sleep(time.Minute)
		c.Unsubscribe("thread:1")
		time.Sleep(5 * time.Second)
		noError(t, c.Subscribe(t.Context(), "thread:1", ""))
		w.skip()
		store.wipe()
		time.Sleep(time.Minute)
		for _, e := range w.read() {
			if e != "diff + -" {
				t.Errorf("got %s of a user who stays", e)
			}
		}
	})
}

// Last seen, since and the activity after a loss of data are those of the page view, and not of the moment at
// which its node wrote it again.
func TestRestoredViewKeepsItsMoment(t *testing.T) {
	for _, watched := range []bool{false, true} {
		bubble(t, fmt.Sprint("watched: ", watched), func(t *testing.T) {
			store := &noticingStore{swapStore: newSwapStore()}
			a := start(t, store, track.Config{Node: "a", Kinds: map[string]presence.Kind{"site": {Recent: 10, Active: true}}})
			if watched {
				openPage(t, a, track.ConnectOptions{})
			}
			viewed := time.Now()
			a.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(2 * time.Minute)
			store.wipe()
			store.missed()
			time.Sleep(30 * time.Second)
			view, err := a.View(t.Context(), presence.Site)
			noError(t, err)
			if m, there := view.Member("alice"); !there || m.Since.Sub(viewed).Abs() > time.Second || !m.Active.Equal(viewed.Truncate(time.Minute)) {
				t.Errorf("got since %v and minute %v (there: %v), want %v", m.Since, m.Active, there, viewed)
			}
			time.Sleep(3 * time.Minute)
			seen, err := a.Sightings(t.Context(), presence.Site, "alice")
			noError(t, err)
			page, err := a.Recent(t.Context(), presence.Site, backend.RecentQuery{Within: time.Hour, Limit: 10})
			noError(t, err)
			if at := seen[0].LastSeen; seen[0].Online || at.Sub(viewed).Abs() > time.Second || len(page.Users) != 1 || !page.Users[0].Active.Equal(at) {
				t.Errorf("got %+v, and the names %+v, want last seen %v in both", seen[0], page.Users, viewed)
			}
		})
	}
}

// A page view of who left since, by a stream at another node, is not written again after a loss of data: nobody would end it for
// minutes.
func TestViewOfWhoHasLeftIsNotRestored(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newSwapStore()
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		w := watch(t, a)
		a.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Second)
		stream := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(20 * time.Second)
		stream.Close()
		time.Sleep(20 * time.Second)
		w.want("diff +alice -", "diff + -alice")
		store.wipe()
		time.Sleep(time.Minute)
		w.read()
		if _, is := w.roster["site"]["alice"]; is || onlineIn(t, store) {
			t.Error("alice is back, who left before the loss")
		}
	})
}

// A page is silent at the node of its stream, and beats at another one, which can list nobody. It turns silent while the first node
// waits for what its user chose, after a loss of data. The user stays.
func TestPageThatTurnsSilentAfterALoss(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := &noticingStore{swapStore: newSwapStore()}
		a, b := pair(t, store)
		w := watch(t, b)
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		w.want("diff +alice -")
		beat := func() {
			t.Helper()
			if alive, err := b.Beat(t.Context(), page.Token(), visitor("alice"), track.Page{}); !alive || err != nil {
				t.Errorf("got %v, %v, want a beat that counts", alive, err)
			}
		}
		for range 2 {
			time.Sleep(15 * time.Second)
			beat()
		}
		time.Sleep(13 * time.Second)
		store.wipe() // two seconds before the page has been silent at a for the TTL
		store.missed()
		for range 4 {
			time.Sleep(15 * time.Second)
			beat()
		}
		for _, e := range w.read() {
			if e != "diff + -" {
				t.Errorf("got %s of a user who stays", e)
			}
		}
	})
}
