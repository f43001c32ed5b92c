package track_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A sweep is given up, and then this node sweeps no more: another one does. The node trusts the store.
func TestSweepThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a, err := track.New(faults, track.Config{Node: "a"})
		noError(t, err)
		defer a.Close(context.Background())
		start(t, memory, track.Config{Node: "b"})
		watch(t, a)
		time.Sleep(time.Minute)
		faults.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallSweep)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err = a.Sweep(ctx)
		cancel()
		faults.Heal()
		t.Log(err)
		time.Sleep(10 * time.Minute)
		hears := faults.Calls(presencetest.CallHear)
		for i := range 100 {
			a.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(300 * time.Millisecond)
		}
		if n := faults.Calls(presencetest.CallHear) - hears; n > 10 {
			t.Errorf("ten minutes later: %d hears for 100 views", n)
		}
		if at, err := a.Attended(t.Context(), "alice"); at || err != nil {
			t.Errorf("got %v %v, want false", at, err)
		}
	})
}

// A store that refuses sweeps has every lease that is renewed.
func TestAttendedWhileSweepsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, faults, a := faulty(t)
		watch(t, a)
		time.Sleep(time.Minute)
		faults.Break(presencetest.Fault{Err: presence.ErrRefused}, presencetest.CallSweep)
		time.Sleep(20 * time.Second)
		if at, err := a.Attended(t.Context(), "alice"); at || err != nil {
			t.Errorf("got %v %v, want false", at, err)
		}
	})
}

// One call that fails leaves no doubt: no lease can have ended.
func TestAttendedAfterOneFailedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, faults, a := faulty(t)
		watch(t, a)
		time.Sleep(time.Minute)
		faults.Break(presencetest.Fault{Err: errDown, Times: 1}, presencetest.CallCounts)
		time.Sleep(3 * time.Second)
		if at, err := a.Attended(t.Context(), "alice"); at || err != nil {
			t.Errorf("got %v %v, want false", at, err)
		}
	})
}

// A user leaves as the store loses its data, and then one call of twenty fails. The user is gone before long.
func TestUserWhoLeftAsCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		faults := presencetest.NewFaults(store)
		a := start(t, faults, track.Config{Node: "a"})
		w := watch(t, a)
		dead := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		time.Sleep(20 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		time.Sleep(50 * time.Millisecond)
		dead.Drop()
		time.Sleep(100 * time.Millisecond)
		store.wipe()
		faults.Heal()
		began := time.Now()
		left := time.Duration(0)
		for range 60 {
			time.Sleep(10 * time.Second)
			faults.Break(presencetest.Fault{Err: errDown, Times: 1}, presencetest.CallCounts)
			if lines := w.read(); len(lines) > 0 {
				t.Log(lines, time.Since(began))
				if len(w.roster["site"]) == 0 {
					left = time.Since(began)
					break
				}
			}
		}
		t.Log("left", left)
		if left == 0 {
			t.Error("never left")
		}
	})
}

// Alice hid, showed herself for a minute, and hid again. Node a lost the notice between. Her leave tells the second moment.
func TestHidAgainAfterALostNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		faultsB := presencetest.NewFaults(memory)
		b := start(t, faultsB, track.Config{Node: "b"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}})
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}})
		time.Sleep(5 * time.Second)
		choose(t, b, "alice", presence.Invisible)
		time.Sleep(time.Minute)
		faults.Disturb(presencetest.Disturbance{Lose: 1})
		choose(t, b, "alice", presence.Online)
		time.Sleep(time.Minute)
		if s, _ := memory.Sightings(t.Context(), "thread:1", "alice"); !s[0].Online {
			t.Fatalf("%+v", s)
		}
		t.Log("a thinks", a.Status("alice"))
		faultsB.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = b.SetStatus(ctx, "alice", presence.Invisible)
		cancel()
		hid := time.Now()
		time.Sleep(2 * time.Second)
		s, _ := memory.Sightings(t.Context(), "thread:1", "alice")
		t.Logf("%+v", s)
		if got := s[0].LastSeen.Sub(hid); s[0].Online || got.Abs() > 2*time.Second {
			t.Errorf("last seen %v after she hid", got)
		}
	})
}
