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
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// fleetCost counts what a fleet asks of its store, apart from heartbeats.
type fleetCost struct {
	backend.Store
	writes, ops, notices, updates atomic.Int64
}

func (s *fleetCost) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	ops := 0
	for _, b := range batches {
		for _, op := range b.Ops {
			if op.Kind != backend.OpHeartbeat {
				ops++
			}
		}
	}
	if s.ops.Add(int64(ops)); ops > 0 {
		s.writes.Add(1)
	}
	return s.Store.Apply(ctx, batches)
}

func (s *fleetCost) Publish(ctx context.Context, n backend.Notice) error {
	if n.Kind != backend.NoticeNode { // which each node sends, whoever is there
		s.notices.Add(1)
	}
	return s.Store.Publish(ctx, n)
}

// take returns what was counted since the last call.
func (s *fleetCost) take() string {
	synctest.Wait()
	return fmt.Sprintf("%d writes of %d operations, %d updates, %d notices",
		s.writes.Swap(0), s.ops.Swap(0), s.updates.Swap(0), s.notices.Swap(0))
}

// Alice has a device at each of three nodes. One call of the store turns her idle, and one
// turns her back, however many nodes and devices there are; beats that say the same again cost
// nothing. Each topic tells one update.
func TestIdleCost(t *testing.T) {
	for _, tc := range []struct {
		name                      string
		before, away, idle, backs [3]bool // whether nobody is at a device
		turned, kept, back        string
	}{
		{"the other devices lie idle", [3]bool{true, true, false}, [3]bool{true, true, true}, [3]bool{true, true, true}, [3]bool{true, true, false},
			"1 writes of 2 operations, 2 updates, 0 notices", "0 writes of 0 operations, 0 updates, 0 notices", "1 writes of 2 operations, 2 updates, 0 notices"},
		{"all at once", [3]bool{}, [3]bool{true, true, true}, [3]bool{true, true, true}, [3]bool{},
			"3 writes of 6 operations, 2 updates, 0 notices", "0 writes of 0 operations, 0 updates, 0 notices", "3 writes of 6 operations, 2 updates, 0 notices"},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			store := &fleetCost{Store: memstore.New()}
			var nodes [3]*track.Tracker
			var devices [3]*track.Connection
			topics := []presence.Topic{presence.Site, "thread:1"}
			for i := range nodes {
				nodes[i] = start(t, store, track.Config{})
				devices[i] = connect(t, nodes[i], track.ConnectOptions{Visitor: visitor("alice"), Topics: topics, Beat: true})
			}
			for _, topic := range topics {
				stop, err := store.Watch(t.Context(), topic, backend.Watcher{Diff: func(d backend.Diff) { store.updates.Add(int64(len(d.Updates))) }})
				noError(t, err)
				defer stop()
			}
			beat := func(minutes int, idle [3]bool) string {
				for range 4 * minutes {
					for i, is := range idle {
						nodes[i].Beat(t.Context(), devices[i].Token(), visitor("alice"), idlePage(is))
					}
					time.Sleep(15 * time.Second)
				}
				return store.take()
			}
			beat(10, tc.before)
			for _, step := range []struct {
				what, got, want string
			}{
				{"turns idle", beat(1, tc.away), tc.turned},
				{"stays idle", beat(10, tc.idle), tc.kept},
				{"comes back", beat(1, tc.backs), tc.back},
				{"stays", beat(10, tc.backs), tc.kept},
			} {
				if step.got != step.want {
					t.Errorf("alice %s: got %s, want %s", step.what, step.got, step.want)
				}
			}
		})
	}
}
