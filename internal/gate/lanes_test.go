package gate_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
)

// Of one caller's requests as many run at a time as half of the cores. Those of others do not wait for them, and no
// request waits for ever.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lanes := gate.NewLanes()
		places := max(1, runtime.GOMAXPROCS(0)/2)
		entered := make(chan func(), 100)
		enter := func(ctx context.Context, c gate.Caller) {
			go func() { entered <- lanes.Enter(ctx, c) }()
			synctest.Wait()
		}
		want := func(n int, what string) {
			t.Helper()
			if got := len(entered); got != n {
				t.Errorf("%s: %d requests run, want %d", what, got, n)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		for i := range places + 2 {
			enter(gone, gate.Caller{Guest: string(rune('a' + i)), Address: "192.0.2.1"})
		}
		want(places, "guests at one address")
		enter(t.Context(), gate.Caller{Address: "192.0.2.2"})
		enter(t.Context(), gate.Caller{User: "alice", Address: "192.0.2.1"})
		want(places+2, "another address, and a user")
		(<-entered)()
		synctest.Wait()
		want(places+2, "after one has ended")
		leave()
		synctest.Wait()
		want(places+3, "after a client has gone")
		enter(t.Context(), gate.Caller{Address: "192.0.2.1"})
		want(places+3, "one more")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(places+4, "two seconds later")
		for range places + 4 {
			(<-entered)()
		}
	})
}
