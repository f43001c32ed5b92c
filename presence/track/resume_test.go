package track_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		seen := func(id string) {
			tracker.Seen(presence.Site, user(id), presence.Device{})
			time.Sleep(100 * time.Millisecond)
		}
		seen("alice")
		first := openPage(t, tracker, track.ConnectOptions{})
		first.want("state alice")
		at := first.conn.Cursor()

		resume := func(from presence.Cursor, want ...string) {
			t.Helper()
			p := openPage(t, tracker, track.ConnectOptions{Cursor: from})
			p.roster["site"] = map[string]string{"alice": "-"}
			if from == at {
				p.cursor["site"] = string(at)
			}
			p.want(want...)
			p.conn.Close()
		}
		resume(at)
		seen("bob")
		seen("carol")
		noError(t, tracker.SignOut(t.Context(), "bob"))
		time.Sleep(time.Second)
		resume(at, "diff +carol -")
		seen("bob")
		resume(at, "diff +bob,carol -")
		for _, garbage := range []presence.Cursor{"x", "~~~", "site.0", "\x00", presence.Cursor(strings.Repeat("a", 1<<20)), presence.Cursor(strings.Repeat("~", 1<<10)), at + "x"} {
			resume(garbage, "state alice,bob,carol")
		}
	})
}

func TestResumeAfterTheTopicWasForgottenHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		p := openPage(t, tracker, track.ConnectOptions{})
		p.want("state alice")
		at := p.conn.Cursor()
		p.conn.Close()
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		time.Sleep(time.Second)
		for _, status := range []presence.Status{presence.Away, presence.Online} { // and nothing has changed
			noError(t, tracker.SetStatus(t.Context(), "alice", status))
		}
		time.Sleep(2 * time.Minute)
		if got := tracker.Stats().Topics; got != 0 {
			t.Fatalf("got %d topics in memory that nobody looks at, want 0", got)
		}
		back := openPage(t, tracker, track.ConnectOptions{Cursor: at})
		back.roster["site"] = map[string]string{"alice": "-"}
		back.want("diff +bob -")
	})
}

func TestMerging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		signOut := func(id presence.UserID) { // elsewhere
			store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{{Kind: backend.OpSignOut, User: presence.User{ID: id}}}}})
		}
		w := watch(t, tracker)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(4 * time.Millisecond) // collected for three
		synctest.Wait()
		if got := w.read(); !slices.Equal(got, []string{"diff +alice -"}) {
			t.Errorf("the first change after a quiet moment: got %q, want it at once", got)
		}
		for i := range 10 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(4 * time.Millisecond)
		}
		signOut("u9")    // came and went inside the window
		signOut("alice") // was there, and is again
		time.Sleep(time.Millisecond)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		w.want("diff +u0,u1,u2,u3,u4,u5,u6,u7,u8 -")
	})
}

// Who comes back in the middle of several topics has, of each, what it came
// with until it has read it; and who was away while a user left and came back
// learns since when that user is there.
func TestResumeIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		topics := []presence.Topic{"site", "thread:1", "thread:2"}
		alice := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: topics})
		p := openPage(t, tracker, track.ConnectOptions{Topics: topics})
		p.want("state alice", "state alice", "state alice")
		at := p.conn.Cursor()
		p.conn.Close()
		time.Sleep(time.Second)
		alice.Drop()
		time.Sleep(time.Second)
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: topics})

		back := openPage(t, tracker, track.ConnectOptions{Topics: topics, Cursor: at})
		back.roster = p.roster
		events := back.conn.Events(nil)
		if got, want := len(events), 3; got != want {
			t.Fatalf("got %d events, want %d", got, want)
		}
		if again := openPage(t, tracker, track.ConnectOptions{Topics: topics, Cursor: events[0].ID}); true {
			again.roster = p.roster
			again.want("diff +alice -", "diff +alice -")
		}
		view, _ := tracker.View(t.Context(), "site")
		var diff payload
		noError(t, json.Unmarshal(events[0].Data, &diff))
		member, _ := view.Member("alice")
		if got, want := diff.Joins["alice"]["since"], member.Since.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("got since %v, want %v as the roster has it", got, want)
		}
	})
}

// The grace of a connection that closed may hold a user in any topic: a
// sign-out and a status reach those too.
func TestSignOutAndStatusWithinTheGrace(t *testing.T) {
	for _, other := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			a := start(t, store, track.Config{})
			b := a
			if other {
				b = start(t, store, track.Config{})
			}
			w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
			w.want("state ")
			visit := func(id string) {
				connect(t, a, track.ConnectOptions{Visitor: visitor(id), Topics: []presence.Topic{"site", "thread:1"}}).Close()
			}
			visit("alice")
			w.want("diff +alice -")
			noError(t, b.SignOut(t.Context(), "alice"))
			w.want("diff + -alice")
			visit("bob")
			w.want("diff +bob -")
			noError(t, b.SetStatus(t.Context(), "bob", presence.Invisible))
			w.want("diff + -bob")
			if got := a.Status("bob"); got != presence.Invisible {
				t.Errorf("got status %q, want invisible", got)
			}
		})
	}
}

// A reader comes with a version that its new node lacks, when the store is back and the node has not found
// that out yet. The node asks the store all the same, so that the reader does not see Alice leave and come.
func TestResumeAsTheStoreComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		way := presencetest.NewFaults(memory)
		a, b := start(t, memory, track.Config{Node: "a"}), start(t, way, track.Config{Node: "b"})
		p := watch(t, a)
		watch(t, b)
		way.Break(presencetest.Fault{Err: presence.ErrStoreOut})
		way.Disturb(presencetest.Disturbance{Lose: 1})
		time.Sleep(time.Second)
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		p.want("diff +alice -")
		way.Heal()
		back := openPage(t, b, track.ConnectOptions{Cursor: p.conn.Cursor()})
		if !b.StoreOut() {
			t.Error("the node knows that the store is back: the test shows nothing")
		}
		back.want()
	})
}
