package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Alice hides while the store is out. When the store is back, its answers still have her as online
// until the choice is written. No node may show her in between. Where she hides only that she is
// online, others may see when she hid, as her last seen.
func TestHiddenStayHiddenInAnswersOfTheStore(t *testing.T) {
	for name, hides := range map[string]presence.Settings{
		"invisible": {Status: presence.Invisible},
		"unseen":    {Status: presence.Invisible, Seen: presence.Nobody},
		"nobody":    {Online: presence.Nobody, Seen: presence.Nobody},
	} {
		bubble(t, name, func(t *testing.T) {
			store := presencetest.NewFaults(memstore.New())
			d := &town{t: t, store: store, directory: presencetest.NewMemoryDirectory()}
			node := func(name string) *track.Tracker {
				return start(t, store, track.Config{Node: name, Directory: d.directory, Kinds: map[string]presence.Kind{"site": {Recent: 10}}})
			}
			d.a, d.b = node("a"), node("b")
			connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "laptop")})
			connect(t, d.b, track.ConnectOptions{})
			time.Sleep(time.Second)
			store.Break(presencetest.Fault{Hang: true})
			time.Sleep(300 * time.Millisecond)
			d.choose(d.a, "alice", hides)
			chosen := time.Now()
			time.Sleep(5 * time.Second)
			store.Heal()
			store.Break(presencetest.Fault{Hang: true}, presencetest.CallApply)
			for _, node := range []*track.Tracker{d.a, d.b} {
				seen, err := node.Sightings(t.Context(), presence.Site, "alice")
				noError(t, err)
				if s := seen[0]; s.Online || s.Status != "" || s.LastSeen.IsZero() != (name != "invisible") || s.LastSeen.After(chosen.Add(5*time.Second)) {
					t.Errorf("got the sighting %+v", s)
				}
				page, err := node.Recent(t.Context(), presence.Site, backend.RecentQuery{Limit: 10, Within: time.Hour})
				noError(t, err)
				if n := len(page.Users); (n > 0) != (name == "invisible") || n > 0 && (page.Users[0].Online || page.Users[0].Status != "") {
					t.Errorf("got the recent users %+v", page.Users)
				}
			}
			store.Heal()
		})
	}
}

// A user who hides as the store goes out leaves the places within a second, also for somebody who looks
// right after that.
func TestHiddenLeavePlacesWhileTheStoreStandsStill(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		d := newTownOn(t, store)
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "laptop"), Topics: []presence.Topic{"thread:1"}})
		connect(t, d.a, track.ConnectOptions{Visitor: on("bob", "laptop"), Topics: []presence.Topic{"thread:1"}})
		time.Sleep(time.Second)
		listed := func() int {
			t.Helper()
			places, err := d.a.Places(t.Context(), "")
			noError(t, err)
			return len(places[0].Users)
		}
		listed()
		time.Sleep(2500 * time.Millisecond)
		store.Break(presencetest.Fault{Hang: true})
		listed()
		time.Sleep(300 * time.Millisecond)
		d.choose(d.a, "alice", presence.Settings{Status: presence.Invisible})
		for range 10 {
			listed()
			time.Sleep(60 * time.Millisecond)
		}
		if n := listed(); n != 1 {
			t.Errorf("got %d users", n)
		}
		store.Heal()
	})
}

// The roster that a node keeps says who is online, and not the store: that may have users of an older
// file, who have left since and whom no roster shows.
func TestAnswersOfTheStoreAgreeWithTheRoster(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory := memstore.New()
		store := presencetest.NewFaults(memory)
		a := start(t, store, track.Config{Node: "a", Kinds: map[string]presence.Kind{"site": {Recent: 10}}})
		watch(t, a)
		store.Disturb(presencetest.Disturbance{Delay: time.Second})
		memory.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Keep: presence.Keep{Names: 10}, Ops: []backend.Op{
			{Kind: backend.OpSeen, User: user("alice"), For: time.Minute},
		}}})
		for _, online := range []bool{false, true} {
			seen, err := a.Sightings(t.Context(), presence.Site, "alice")
			noError(t, err)
			page, err := a.Recent(t.Context(), presence.Site, backend.RecentQuery{Limit: 10, Within: time.Hour})
			noError(t, err)
			if seen[0].Online != online || len(page.Users) != 1 || page.Users[0].Online != online {
				t.Errorf("got %+v and %+v, want online %v", seen, page.Users, online)
			}
			time.Sleep(1500 * time.Millisecond)
		}
	})
}

// Node b keeps alice out of its list, and may have missed that she shows again. It asks the Directory, although no page of hers is open
// at b.
func TestWhoHidAndShowsAgainUnheard(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory, directory := memstore.New(), presencetest.NewMemoryDirectory()
		deaf := presencetest.NewFaults(memory)
		a := start(t, memory, track.Config{Node: "a", Directory: directory})
		b := start(t, deaf, track.Config{Node: "b", Directory: directory})
		d := &town{t: t, store: deaf, directory: directory, a: a, b: b}
		connect(t, a, track.ConnectOptions{Visitor: on("alice", "laptop")})
		w := openPage(t, b, track.ConnectOptions{})
		w.want("state alice")
		d.choose(a, "alice", presence.Settings{Status: presence.Invisible})
		time.Sleep(time.Second)
		deaf.Disturb(presencetest.Disturbance{Lose: 1_000})
		d.choose(a, "alice", presence.Settings{})
		time.Sleep(100 * time.Millisecond)
		deaf.Disturb(presencetest.Disturbance{})
		b.Hear(backend.Notice{Missed: time.Second}) // its streams stay
		time.Sleep(30 * time.Second)
		w.read()
		if _, is := w.roster["site"]["alice"]; !is {
			t.Error("alice is not listed, who shows again")
		}
	})
}
