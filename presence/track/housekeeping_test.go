package track_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The figures of topics are asked for twice a second while they change, and once a second at rest.
func TestFiguresOfTopicsAtRest(t *testing.T) {
	for _, tt := range []struct {
		topics      int
		most        float64       // topics a second at rest
		lateAtRest  time.Duration // until a reader here knows a guest there
		lateInHaste time.Duration // while figures of the topic change
	}{
		{64, 1.1 * 64, 1100 * time.Millisecond, time.Second},
		{200, 1.1 * 200, 1100 * time.Millisecond, time.Second},
	} {
		bubble(t, fmt.Sprint(tt.topics), func(t *testing.T) {
			shared := memstore.New()
			store := &askedStore{Store: shared}
			here, there := start(t, store, track.Config{Node: "a"}), start(t, shared, track.Config{Node: "b"})
			names := make([]presence.Topic, tt.topics)
			for i := range names {
				names[i] = presence.Topic(fmt.Sprintf("thread:%d", i))
				connect(t, here, track.ConnectOptions{Topics: names[i : i+1], Observe: true})
			}
			time.Sleep(10 * time.Second)
			store.take()
			time.Sleep(20 * time.Second)
			asked := 0
			for _, n := range store.take() {
				asked += n
			}
			if got := float64(asked) / 20; got > tt.most || got < 0.4*float64(tt.topics) {
				t.Errorf("asked for the figures of %v topics a second at rest, want %v at most, and each once a second at least", got, tt.most)
			}
			for i, most := range []time.Duration{tt.lateAtRest, tt.lateInHaste, tt.lateInHaste, tt.lateInHaste} {
				there.SeenGuest(names[7], fmt.Sprint("guest", i))
				began := time.Now()
				for {
					view, err := here.View(t.Context(), names[7])
					noError(t, err)
					if view.Guests == i+1 {
						break
					}
					if time.Since(began) > most {
						t.Fatalf("%v after guest %d came: got %d, want %d", most, i+1, view.Guests, i+1)
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
}

// A node that nobody uses asks the store for nothing but the renewals of its own lease. It learns of an outage
// by them.
func TestNodeThatNobodyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		node := start(t, faults, track.Config{})
		node.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(10 * time.Minute)
		before := faults.Calls(presencetest.CallCounts)
		sweeps, renewals := faults.Calls(presencetest.CallSweep), faults.Calls(presencetest.CallRenewNode)
		time.Sleep(time.Minute)
		if got := faults.Calls(presencetest.CallCounts) - before; got > 0 {
			t.Errorf("asked %d times for figures in a minute, want never", got)
		}
		if got := faults.Calls(presencetest.CallSweep) - sweeps; got > 6 {
			t.Errorf("asked %d times in a minute what to sweep, want 6 times at most", got)
		}
		if got := faults.Calls(presencetest.CallRenewNode) - renewals; got < 17 || got > 19 {
			t.Errorf("renewed the node's lease %d times in a minute, want 18 times", got)
		}
		faults.Break(presencetest.Fault{Err: presence.ErrStoreOut})
		time.Sleep(4 * time.Second)
		if !node.Stats().StoreOut {
			t.Error("the store is out for 4 s, and the node does not know")
		}
		faults.Heal()
		time.Sleep(time.Second)
		if node.Stats().StoreOut {
			t.Error("the store is back for a second, and the node does not know")
		}
	})
}

// A topic at rest costs a node one question a second, also while a page there renews its lease.
func TestPageAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		node := start(t, faults, track.Config{})
		connect(t, node, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		before := faults.Calls(presencetest.CallCounts)
		time.Sleep(time.Minute)
		if got := faults.Calls(presencetest.CallCounts) - before; got < 59 || got > 62 {
			t.Errorf("asked %d times for figures in a minute, want 60 times", got)
		}
	})
}
