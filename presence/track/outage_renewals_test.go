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
			way.Break(presencetest.Fault{Hang: true}, presencetest.CallApply, presencetest.CallRenewNode, presencetest.CallSweep)
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
