package track_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// deaf makes a node lose all that it would hear.
var deaf = presencetest.Disturbance{Lose: 1000}

// A node that hears of no diff finds that out by the figures, also where each answer has another version than the one
// before, because users come all the time.
func TestLostDiffsOfABusyTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		node := start(t, faults, track.Config{MergeWindow: -1})
		connect(t, node, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true})
		faults.Disturb(deaf)
		const users = 20
		for i := range users {
			come(t, faults, fmt.Sprint("u", i))
			time.Sleep(300 * time.Millisecond)
		}
		view, err := node.View(t.Context(), throng)
		noError(t, err)
		if view.Total < users-7 {
			t.Errorf("the node lists %d users, and %d came over two seconds ago", view.Total, users-7)
		}
	})
}

// After a loss of data a node restores its users just before another node lets them leave, and that node has lost the
// diff. The figures tell it of the diff, and it reads that before it decides.
func TestLostDiffOfARestoredUser(t *testing.T) {
	for late := 7 * time.Second; late < 10*time.Second; late += 100 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			store := newSwapStore()
			hears, holds := presencetest.NewFaults(store), presencetest.NewFaults(store)
			w := watch(t, start(t, hears, track.Config{Node: "hears"}))
			connect(t, start(t, holds, track.Config{Node: "holds"}), track.ConnectOptions{Visitor: visitor("bob")})
			w.want("diff +bob -")
			holds.Break(presencetest.Fault{Err: errDown})
			store.wipe()
			var restored atomic.Int64
			_, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(backend.Diff) { restored.Store(time.Now().UnixNano()) }})
			noError(t, err)
			time.Sleep(late)
			hears.Disturb(deaf)
			holds.Heal()
			for range 100 {
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				for _, line := range w.read() {
					at := restored.Load() // zero: not yet
					if there := time.Since(time.Unix(0, at)); line == "diff + -bob" && at > 0 && there > 600*time.Millisecond {
						t.Errorf("bob, who was restored %v after a loss of data, left %v later", late, there)
					}
				}
			}
		})
	}
}
