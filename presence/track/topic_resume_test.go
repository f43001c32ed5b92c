package track_test

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Go program that resumes a topic over the roster limit gets the total of now.
func TestResumeOverTheRosterLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxRoster: 2})
		connect(t, tracker, track.ConnectOptions{Observe: true}) // the topic stays loaded
		var at presence.Cursor
		for i := range 5 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(2 * time.Second)
			if i == 3 {
				view, err := tracker.View(t.Context(), presence.Site)
				noError(t, err)
				at = view.Cursor
			}
		}
		for change, err := range tracker.Changes(t.Context(), presence.Site, at) {
			if err != nil || change.State || change.Total != 5 {
				t.Errorf("got %+v, %v, want a total of 5", change, err)
			}
			break
		}
	})
}

// cancelingOut returns two nodes, and a page at each. Node b has told its page that Bob left and came back. Node a merges
// changes for a second, so for its page both cancel out.
func cancelingOut(t *testing.T) (a, b *track.Tracker, here, there *page) {
	store := memstore.New()
	a = start(t, store, track.Config{Node: "a", MergeWindow: time.Second})
	b = start(t, store, track.Config{Node: "b"})
	bob := connect(t, b, track.ConnectOptions{Visitor: visitor("bob")})
	here, there = openPage(t, a, track.ConnectOptions{Observe: true}), openPage(t, b, track.ConnectOptions{Observe: true})
	here.want("state bob")
	there.want("state bob")
	time.Sleep(2 * time.Second)
	connect(t, b, track.ConnectOptions{Visitor: visitor("carol")})
	here.want("diff +carol -")
	there.want("diff +carol -")
	bob.Drop()
	there.want("diff + -bob")
	connect(t, b, track.ConnectOptions{Visitor: visitor("bob")})
	there.want("diff +bob -")
	return a, b, here, there
}

// A reader comes from a node that told that Bob left and that he came back. At the other node both
// cancel out: the reader does not go back to the version before.
func TestResumeWhereWhatWasMissedCancelsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, here, there := cancelingOut(t)
		time.Sleep(2 * time.Second)
		here.want()
		at := presence.Cursor(there.cursor["site"])
		moved := openPage(t, a, track.ConnectOptions{Observe: true, Cursor: at})
		moved.want()
		here.want("diff + -")
		connect(t, b, track.ConnectOptions{Visitor: visitor("dave")})
		moved.roster["site"], moved.cursor["site"] = there.roster["site"], string(at)
		moved.want("diff +dave -")
		here.want("diff +dave -")
	})
}

// The same while another change waits at the other node: the reader gets that, with the version that has it.
func TestResumeWhereWhatWasMissedCancelsOutBeforeAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, here, there := cancelingOut(t)
		at, roster := presence.Cursor(there.cursor["site"]), maps.Clone(there.roster["site"])
		time.Sleep(time.Second) // node a has merged both, and waits again
		connect(t, b, track.ConnectOptions{Visitor: visitor("dave")})
		there.want("diff +dave -")
		poll := openPage(t, a, track.ConnectOptions{Observe: true, Cursor: at})
		poll.roster["site"], poll.cursor["site"] = roster, string(at)
		poll.want("diff +dave -")
		if got, want := poll.cursor["site"], there.cursor["site"]; got != want {
			t.Errorf("got cursor %q, want %q", got, want)
		}
		here.want("diff +dave -")
	})
}
