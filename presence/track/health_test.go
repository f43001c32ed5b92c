package track_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A node is in order until it closes, and until the store has been out for longer than
// the TTL, whether calls of it fail or hang.
func TestHealth(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault presencetest.Fault
		calls []presencetest.Call
	}{
		{"all calls fail", presencetest.Fault{Err: errDown}, presencetest.AllCalls()},
		{"all calls hang", presencetest.Fault{Hang: true}, presencetest.AllCalls()},
		{"writes fail", presencetest.Fault{Err: errDown}, []presencetest.Call{presencetest.CallApply}},
		{"reads hang", presencetest.Fault{Hang: true}, []presencetest.Call{presencetest.CallCounts}},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			faults := presencetest.NewFaults(memstore.New())
			tracker := start(t, faults, track.Config{TTL: 45 * time.Second, Logger: slog.New(slog.DiscardHandler)})
			want := func(when string, want error) {
				t.Helper()
				if err := tracker.Health(); !errors.Is(err, want) {
					t.Errorf("%s: got %v, want %v", when, err, want)
				}
			}
			connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(time.Minute)
			want("at rest", nil)
			faults.Break(tc.fault, tc.calls...)
			tracker.Seen(presence.Site, user("bob"), presence.Device{})
			time.Sleep(44 * time.Second)
			want("out for less than the TTL", nil)
			time.Sleep(20 * time.Second)
			want("out for longer", presence.ErrStoreOut)
			faults.Heal()
			time.Sleep(10 * time.Second)
			want("back", nil)
			noError(t, tracker.Close(context.Background()))
			want("closed", presence.ErrClosed)
		})
	}
}

// A node that drains is not in order from the moment at which Close is called.
func TestHealthWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		tracker := start(t, store, track.Config{})
		store.Break(presencetest.Fault{Delay: 2 * time.Second}, presencetest.CallStatuses)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = tracker.Close(context.Background()) // waits for what Alice chose
		}()
		time.Sleep(500 * time.Millisecond) // of at most a second
		select {
		case <-closed:
			t.Error("Close has returned, want it to wait")
		default:
		}
		if err := tracker.Health(); !errors.Is(err, presence.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		<-closed
	})
}
