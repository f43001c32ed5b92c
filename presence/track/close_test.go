package track_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Close cuts off a write that is under way, and does it again: that is no outage
// to warn of, and nothing is lost.
func TestCloseDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		var logged bytes.Buffer
		tracker, err := track.New(faults, track.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		noError(t, err)
		faults.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallApply)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(100 * time.Millisecond)
		noError(t, tracker.Close(context.Background()))
		if logged.Len() > 0 {
			t.Errorf("got %q logged, want nothing", logged.String())
		}
		if snapshot, err := memory.Snapshot(t.Context(), presence.Site); err != nil || len(snapshot.Members) != 1 {
			t.Errorf("got %+v, %v, want alice", snapshot, err)
		}
	})
}

// A node that has closed is not counted among those that share the store. It keeps its lease if it could not write
// everything, because a sweep must end what it held.
func TestCloseEndsTheLeaseOfTheNode(t *testing.T) {
	for _, out := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			memory := memstore.New()
			faults := presencetest.NewFaults(memory)
			tracker, err := track.New(faults, track.Config{Logger: slog.New(slog.DiscardHandler)})
			noError(t, err)
			time.Sleep(time.Second)
			if out {
				faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
			}
			tracker.Seen(presence.Site, user("alice"), presence.Device{})
			noError(t, tracker.Close(context.Background()))
			r, err := memory.Poll(t.Context(), backend.Poll{Process: "another.node", Term: time.Hour})
			if err != nil || (r.Next < time.Hour) != out {
				t.Errorf("out %t: got %v until a lease lapses and error %v", out, r.Next, err)
			}
		})
	}
}
