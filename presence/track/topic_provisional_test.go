package track_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// wiped returns a node that has just found that its store lost some users whose own
// node is out of reach, so that they are missing. It sees changes after at least window.
func wiped(t *testing.T, window time.Duration, missing ...string) *track.Tracker {
	t.Helper()
	store := newSwapStore()
	tracker := start(t, store, track.Config{Node: "here", MergeWindow: window})
	connect(t, tracker, track.ConnectOptions{Observe: true}) // the topic is loaded, and stays so
	faults := presencetest.NewFaults(store)
	away := start(t, faults, track.Config{Node: "away"})
	for _, id := range missing {
		connect(t, away, track.ConnectOptions{Visitor: visitor(id)})
	}
	time.Sleep(2 * window)
	faults.Break(presencetest.Fault{Err: errDown})
	store.wipe()
	time.Sleep(4 * time.Second)
	return tracker
}

// Changes that wait for the end of the merge window when the provisional roster ends
// are published under a version of their own, before it ends.
func TestProvisionalEndsAmongChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := wiped(t, 3*time.Second, "goes")
		reader := connect(t, tracker, track.ConnectOptions{Observe: true})
		var cursors []presence.Cursor
		users := map[string]bool{}
		for i := range 40 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(time.Second)
			for _, e := range reader.Events(nil) {
				var d payload
				noError(t, json.Unmarshal(e.Data, &d))
				if e.Type == presence.EventHeartbeat {
					continue
				}
				if slices.Contains(cursors, e.Cursor) {
					t.Errorf("got the cursor %q twice", e.Cursor)
				}
				cursors = append(cursors, e.Cursor)
				for id := range d.Users {
					users[id] = true
				}
				for id := range d.Joins {
					users[id] = true
				}
				for id := range d.Leaves {
					delete(users, id)
				}
				if d.Total != len(users) {
					t.Errorf("got total %d with %d users", d.Total, len(users))
				}
			}
		}
		if users["goes"] {
			t.Error("a user whom nobody restored is still listed")
		}
	})
}

// Each reader that resumes while the roster is provisional gets what it missed until
// then, also what was decided after an earlier reader resumed at the same version.
func TestResumeWhileProvisional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := wiped(t, time.Millisecond, "first", "second", "third")
		at := connect(t, tracker, track.ConnectOptions{Observe: true})
		at.Events(nil)
		for i, id := range []presence.UserID{"first", "second"} {
			noError(t, tracker.SignOut(t.Context(), id))
			time.Sleep(100 * time.Millisecond)
			p := openPage(t, tracker, track.ConnectOptions{Observe: true, Cursor: at.Cursor()})
			p.cursor["site"] = string(at.Cursor())
			p.roster["site"] = map[string]string{"first": "-", "second": "-", "third": "-"}
			p.want([]string{"diff + -first", "diff + -first,second"}[i])
		}
	})
}

// A node knows its own versions of a topic: it does not look in the store for what led to them.
func TestOwnVersionsAreNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		faults := presencetest.NewFaults(store)
		a := start(t, faults, track.Config{})
		w := watch(t, a)
		goes := connect(t, a, track.ConnectOptions{Visitor: visitor("goes")})
		w.want("diff +goes -")
		goes.Drop()
		store.wipe()
		time.Sleep(5 * time.Second)
		w.want("diff + -")
		before := faults.Calls(presencetest.CallLog)
		time.Sleep(3 * time.Second) // she is missing
		if got := faults.Calls(presencetest.CallLog) - before; got > 0 {
			t.Errorf("read the log %d times in 3 s, want never", got)
		}
		time.Sleep(10 * time.Second)
		w.want("diff + -goes")
	})
}
