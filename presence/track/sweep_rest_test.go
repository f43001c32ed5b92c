package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Sweeps do not ask the store while no lease can expire. Who closes a page leaves after the grace all the same.
func TestSweepsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := memstore.New()
		faults := presencetest.NewFaults(shared)
		a := start(t, faults, track.Config{})
		b, err := track.New(shared, track.Config{}) // does not sweep
		noError(t, err)
		defer b.Close(t.Context())
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		for range 20 {
			c := connect(t, b, track.ConnectOptions{Visitor: visitor("bob")})
			time.Sleep(730 * time.Millisecond) // so that a page closes at any moment of a rest
			before := faults.Calls(presencetest.CallSweep)
			c.Close()
			closed := time.Now()
			for {
				v, err := a.View(t.Context(), presence.Site)
				noError(t, err)
				if v.Total == 1 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if late := time.Since(closed) - a.Config().Grace; late < 0 || late > 1100*time.Millisecond {
				t.Errorf("bob left %v after the grace, want within a second", late)
			}
			if got := faults.Calls(presencetest.CallSweep) - before; got > 5 {
				t.Errorf("asked %d times in a grace what to sweep, want 5 times at most", got)
			}
		}
	})
}

// After trouble each sweep asks the store, because a lease may expire sooner than the latest sweep found.
func TestSweepsDoNotRestAfterTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		before := faults.Calls(presencetest.CallSweep)
		for faults.Calls(presencetest.CallSweep) == before { // just now a sweep has asked
			time.Sleep(10 * time.Millisecond)
		}
		before++
		faults.Break(presencetest.Fault{Err: presence.ErrStoreOut, Times: 1}, presencetest.CallCounts)
		time.Sleep(14 * time.Second)
		if faults.Calls(presencetest.CallSweep) == before {
			t.Error("a call failed, and no sweep has asked the store since")
		}
	})
}
