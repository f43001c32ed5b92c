package track_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Go program that follows the changes of a topic that is kept in part gets the whole roster,
// and then each join and leave once. Afterwards the topic is kept in part again.
func TestPartChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		come(t, store, span(0, 30)...)
		tracker := startInPart(t, store, inPart)
		wantPart(t, tracker, 30, 5)
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan string, 100)
		over := make(chan error, 1)
		go func() {
			defer close(told)
			for change, err := range tracker.Changes(ctx, throng, "") {
				if err != nil {
					over <- err
					return
				}
				if change.State {
					told <- fmt.Sprint("state of ", len(change.Joins))
				}
				for _, m := range change.Joins {
					if !change.State {
						told <- "+" + string(m.ID)
					}
				}
				for _, l := range change.Leaves {
					told <- "-" + string(l.ID)
				}
			}
		}()
		synctest.Wait()
		come(t, store, "x")
		time.Sleep(2 * time.Second)
		leave(t, store, "u1", "x")
		come(t, store, "y")
		time.Sleep(2 * time.Second)
		wantPart(t, tracker, 30, -1)
		cancel()
		var all []string
		for s := range told {
			all = append(all, s)
		}
		slices.Sort(all[1:])
		if got := strings.Join(all, " "); got != "state of 30 +x +y -u1 -x" {
			t.Errorf("got %q, want each join and leave once", got)
		}
		come(t, store, "z")
		time.Sleep(2 * time.Second)
		wantPart(t, tracker, 31, 5)
		if len(over) > 0 {
			t.Error(<-over)
		}
	})
}

// A cursor from the other mode, or from another node: whoever resumes gets totals while the topic
// is large, and a state where it is not, and never a diff that does not fit.
func TestPartResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := startInPart(t, store, inPart), startInPart(t, store, inPart)
		resume := func(what string, tracker *track.Tracker, from presence.Cursor, want ...presence.EventType) presence.Cursor {
			t.Helper()
			c := connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Cursor: from})
			defer c.Close()
			events := c.Events(nil)
			if len(events) != 1 || !slices.Contains(want, events[0].Type) {
				t.Errorf("%s: got %+v, want one of %v", what, events, want)
				return from
			}
			var d payload
			if err := json.Unmarshal(events[0].Data, &d); err != nil || len(d.Joins)+len(d.Leaves) > 0 {
				t.Errorf("%s: got %s, %v, want no joins and leaves", what, events[0].Data, err)
			}
			return events[0].ID
		}
		come(t, store, span(0, 8)...)
		whole := resume("at first", a, "", presence.EventState)
		crowdView(t, b)
		come(t, store, span(8, 30)...)
		time.Sleep(3 * time.Second)
		wantPart(t, b, 30, 5)
		resume("from whole to part", a, whole, presence.EventCount, presence.EventState)
		part := resume("from whole to part, elsewhere", b, whole, presence.EventCount, presence.EventState)
		c := startInPart(t, store, inPart) // starts while the topic is large
		wantPart(t, c, 30, 5)
		come(t, store, "x")
		time.Sleep(2 * time.Second)
		resume("within the part", b, part, presence.EventCount)
		resume("within the part, at a fresh node", c, part, presence.EventCount, presence.EventState)
		leave(t, store, span(0, 25)...)
		time.Sleep(3 * time.Second)
		wantPart(t, c, 6, -1)
		for _, from := range []presence.Cursor{whole, part} {
			resume("back in whole", a, from, presence.EventState)
			resume("back in whole, at a fresh node", c, from, presence.EventState)
		}
	})
}

// A Go program that begins to follow while a diff waits for its publication is told of all that
// comes afterwards.
func TestPartChangesInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		come(t, faults, span(0, 30)...)
		tracker := startInPart(t, faults, inPart)
		openPage(t, tracker, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true})
		time.Sleep(3 * time.Second)
		wantPart(t, tracker, 30, 5)
		come(t, faults, "k1") // published at once
		come(t, faults, "k2") // waits for the window of a second
		faults.Break(presencetest.Fault{Delay: 300 * time.Millisecond}, presencetest.CallSnapshot)
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan string, 100)
		go func() {
			defer close(told)
			for change, err := range tracker.Changes(ctx, throng, "") {
				if err != nil {
					return
				}
				if change.State {
					told <- fmt.Sprint("state of ", len(change.Joins))
					continue
				}
				told <- fmt.Sprint("total ", change.Total)
				for _, m := range change.Joins {
					told <- "+" + string(m.ID)
				}
				for _, l := range change.Leaves {
					told <- "-" + string(l.ID)
				}
			}
		}()
		time.Sleep(400 * time.Millisecond) // the first read of the whole is over
		come(t, faults, "x")
		leave(t, faults, "u1")
		time.Sleep(5 * time.Second)
		come(t, faults, "z")
		time.Sleep(5 * time.Second)
		cancel()
		var all []string
		for s := range told {
			all = append(all, s)
		}
		got := strings.Join(all, " ")
		for _, want := range []string{"+x", "-u1", "+z"} {
			if !slices.Contains(all, want) {
				t.Errorf("not told %s: %s", want, got)
			}
		}
	})
}
