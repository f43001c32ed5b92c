package track_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A muteStore tells watchers of no diffs while it is mute.
type muteStore struct {
	*swapStore
	mute  atomic.Bool
	muted atomic.Int64 // when it last told nobody
}

func (s *muteStore) Watch(ctx context.Context, topic presence.Topic, fn func(backend.Diff)) (func(), error) {
	return s.swapStore.Watch(ctx, topic, func(d backend.Diff) {
		if s.mute.Load() {
			s.muted.Store(time.Now().UnixNano())
			return
		}
		fn(d)
	})
}

// A node that hears of no diff finds that out by the figures, also where each answer has another version than the one
// before, because users come all the time.
func TestLostDiffsOfABusyTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &muteStore{swapStore: newSwapStore()}
		node := start(t, store, track.Config{MergeWindow: -1})
		connect(t, node, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true})
		store.mute.Store(true)
		const users = 20
		for i := range users {
			come(t, store, fmt.Sprint("u", i))
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
	for late := 7 * time.Second; late < 11*time.Second; late += 100 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			store := &muteStore{swapStore: newSwapStore()}
			w := watch(t, start(t, store, track.Config{Node: "here"}))
			faults := presencetest.NewFaults(store.swapStore)
			away := start(t, faults, track.Config{Node: "away"})
			connect(t, away, track.ConnectOptions{Visitor: visitor("bob")})
			w.want("diff +bob -")
			faults.Break(presencetest.Fault{Err: errDown})
			store.wipe()
			store.mute.Store(true)
			time.Sleep(late)
			faults.Heal()
			for range 100 {
				time.Sleep(50 * time.Millisecond)
				for _, line := range w.read() {
					there := time.Since(time.Unix(0, store.muted.Load()))
					if line == "diff + -bob" && store.muted.Load() > 0 && there > 600*time.Millisecond {
						t.Errorf("bob, who was restored %v after a loss of data, left %v later", late, there)
					}
				}
			}
		})
	}
}
