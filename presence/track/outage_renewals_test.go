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

// A node that has nothing to write learns by its own lease that the store held up all writes. So it waits
// for the other nodes to renew theirs before it sweeps.
func TestOutageOfWritesAtANodeThatHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		ways := []*presencetest.Faults{presencetest.NewFaults(store), presencetest.NewFaults(store)}
		start(t, ways[0], track.Config{Node: "a"})
		connect(t, start(t, ways[1], track.Config{Node: "b"}), track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		for _, way := range ways {
			way.Break(presencetest.Fault{Hang: true}, presencetest.CallApply, presencetest.CallPoll, presencetest.CallSweep)
		}
		time.Sleep(50 * time.Second) // longer than a lease
		ways[0].Heal()
		time.Sleep(3 * time.Second)
		ways[1].Heal()
		time.Sleep(20 * time.Second)
		diffs, err := store.Log(t.Context(), presence.Site, "")
		noError(t, err)
		for _, d := range diffs {
			if len(d.Leaves) > 0 {
				t.Errorf("got a leave of %s %v after the start, who has a page all the time", d.Leaves[0].ID, d.At)
			}
		}
	})
}

// A node that finds the store writable again writes what waits at once, however often it has failed before.
func TestWritesFollowARenewal(t *testing.T) {
	for range 10 { // the pauses of a writer are random
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			way := presencetest.NewFaults(store)
			a := start(t, way, track.Config{Node: "a"})
			time.Sleep(time.Minute)
			way.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply, presencetest.CallPoll)
			a.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(30 * time.Second)
			way.Heal()
			time.Sleep(600 * time.Millisecond)
			if got := stored(t, store, presence.Site); got == "" {
				t.Error("nothing is written 600 ms after the store is back")
			}
		})
	}
}
