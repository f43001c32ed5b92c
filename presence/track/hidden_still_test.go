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

// A user hides in every topic at once, also where the node that holds the user stands still: a node
// writes it that shows the user there.
func TestHidesWhileTheNodeOfAPageStandsStill(t *testing.T) {
	for _, shows := range []string{"the node that is told", "another one"} {
		bubble(t, shows, func(t *testing.T) {
			memory := memstore.New()
			still := presencetest.NewFaults(memory)
			a := start(t, still, track.Config{Node: "a"})
			b := start(t, memory, track.Config{Node: "b"})
			c := start(t, memory, track.Config{Node: "c"})
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}})
			looks := b
			if shows == "another one" {
				looks = c
			}
			w := openPage(t, looks, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
			w.want("state alice")
			still.Break(presencetest.Fault{Hang: true})
			time.Sleep(100 * time.Millisecond)
			choose(t, b, "alice", presence.Invisible)
			time.Sleep(100 * time.Millisecond)
			w.want("diff + -alice")
			if snap, err := memory.Snapshot(t.Context(), "thread:1"); err != nil || len(snap.Members) > 0 {
				t.Errorf("the store shows %+v, %v, as to a node that begins now", snap.Members, err)
			}
			still.Heal()
		})
	}
}

// tellsAndWritesNot publishes what alice chose, and writes it nowhere.
func tellsAndWritesNot(t *testing.T, store *memstore.Store, status presence.Status) {
	t.Helper()
	noError(t, store.Publish(t.Context(), keeps(t, store, "alice", status)))
}

// A user who hides is off every roster soon, although the node that holds the user hangs, and back at once who is visible
// again.
func TestHidesBeforeTheStoreSaysSo(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory := memstore.New()
		still := presencetest.NewFaults(memory)
		a := start(t, still, track.Config{Node: "a"})
		b := start(t, memory, track.Config{Node: "b"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w := openPage(t, b, track.ConnectOptions{})
		w.want("state alice")
		still.Break(presencetest.Fault{Hang: true})
		for range 2 {
			choose(t, b, "alice", presence.Invisible)
			time.Sleep(250 * time.Millisecond)
			w.want("diff + -alice")
			choose(t, b, "alice", presence.Online)
			time.Sleep(250 * time.Millisecond)
			w.want("diff +alice -")
		}
		tellsAndWritesNot(t, memory, presence.Invisible) // b does, since it shows her
		time.Sleep(250 * time.Millisecond)
		w.want("diff + -alice")
		still.Heal()
		time.Sleep(2 * time.Minute)
		if _, there := view(t, b).Member("alice"); there {
			t.Error("alice is shown, who hid")
		}
	})
}

// A user who shows herself again comes as others do, although the node lost the diff in which she hid: she is there since then,
// and not since before she seemed to leave.
func TestShowsHerselfWhereTheDiffOfHidingWasLost(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory := memstore.New()
		way := presencetest.NewFaults(memory)
		a, b := start(t, memory, track.Config{Node: "a"}), start(t, way, track.Config{Node: "b"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w := openPage(t, b, track.ConnectOptions{})
		w.want("state alice")
		time.Sleep(time.Minute)
		way.Disturb(presencetest.Disturbance{Lose: 1}) // a diff and a notice
		noError(t, memory.Publish(t.Context(), backend.SignOutNotice("zoe")))
		choose(t, a, "alice", presence.Invisible)
		time.Sleep(250 * time.Millisecond)
		w.want("diff + -alice")
		choose(t, a, "alice", presence.Online)
		w.skip()
		if since, left := w.joined["alice"], w.lastSeen["alice"]; since <= left {
			t.Errorf("alice is there since %q, and was last seen at %q", since, left)
		}
	})
}

// A user who hid stays off a roster when a diff of before that comes late, and is back at once with the next choice.
func TestHiddenWhileAnEarlierDiffComes(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory := memstore.New()
		still := presencetest.NewFaults(memory)
		a := start(t, still, track.Config{Node: "a"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		b := start(t, memory, track.Config{Node: "b"})
		w, thread := openPage(t, b, track.ConnectOptions{}), openPage(t, b, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		w.want("state alice")
		thread.want("state ")
		still.Break(presencetest.Fault{Hang: true})
		choose(t, b, "alice", presence.Invisible)
		time.Sleep(250 * time.Millisecond)
		w.want("diff + -alice")
		enters := backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "alice", Status: presence.Busy}, Holder: "a.1", For: time.Hour}
		noError(t, memory.Apply(t.Context(), []backend.Batch{{Topic: "thread:1", Ops: []backend.Op{enters}}})[0].Err)
		busy := backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: "alice", Status: presence.Busy}}
		noError(t, memory.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{busy}}})[0].Err)
		time.Sleep(250 * time.Millisecond)
		w.want()                // the store keeps the later choice
		thread.want("diff + -") // a version without changes
		choose(t, b, "alice", presence.Away)
		time.Sleep(50 * time.Millisecond)
		w.want("diff +alice -")
		thread.want("diff +alice -", "diff +alice -") // as the store had her, and then away
	})
}

// A long poll that goes on at the latest version waits for news while a user is kept out, also within the merge window.
func TestPollsWhileAHiddenUserIsKeptOut(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory := memstore.New()
		still := presencetest.NewFaults(memory)
		a := start(t, still, track.Config{Node: "a"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		b := start(t, memory, track.Config{Node: "b", MergeWindow: 5 * time.Second})
		thread := track.ConnectOptions{Topics: []presence.Topic{"thread:1"}, Observe: true}
		connect(t, b, thread).Events(nil)
		still.Break(presencetest.Fault{Hang: true})
		tellsAndWritesNot(t, memory, presence.Invisible)
		joins := func(user presence.User) {
			op := backend.Op{Kind: backend.OpJoin, User: user, Holder: "a.1", For: time.Hour}
			noError(t, memory.Apply(t.Context(), []backend.Batch{{Topic: "thread:1", Ops: []backend.Op{op}}})[0].Err)
		}
		joins(user("bob")) // opens the merge window
		time.Sleep(time.Second)
		joins(presence.User{ID: "alice", Status: presence.Busy})
		time.Sleep(100 * time.Millisecond)
		states := 0
		for range 5 {
			poll := connect(t, b, thread)
			for _, e := range poll.Events(nil) {
				if e.Type == presence.EventState {
					states++
				}
			}
			thread.Cursor = poll.Cursor()
			poll.Close()
			time.Sleep(100 * time.Millisecond)
		}
		if states > 1 {
			t.Errorf("five polls got %d states, want one, of the first", states)
		}
	})
}

// A node that lost the notice and the diff by which a user hid, before the store lost its data, asks what those chose whom it still
// lists and the store has not.
func TestAsksAboutTheMissing(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newSwapStore()
		way := presencetest.NewFaults(store)
		a, b := start(t, store, track.Config{Node: "a"}), start(t, way, track.Config{Node: "b"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w := openPage(t, b, track.ConnectOptions{})
		w.want("state alice")
		time.Sleep(time.Minute)
		way.Disturb(presencetest.Disturbance{Lose: 1}) // a diff and a notice
		choose(t, a, "alice", presence.Invisible)
		store.wipe()
		time.Sleep(8 * time.Second)
		w.want("diff + -", "diff + -alice")
	})
}
