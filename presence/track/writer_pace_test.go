package track_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// writes notes when each operation reaches the store, and how many calls brought them.
type writes struct {
	backend.Store
	mu    sync.Mutex
	calls int
	at    map[presence.UserID]time.Time // of a user's latest operation
}

func (w *writes) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	w.mu.Lock()
	w.calls++
	for _, b := range batches {
		for _, op := range b.Ops {
			w.at[op.User.ID] = time.Now()
		}
	}
	w.mu.Unlock()
	results := w.Store.Apply(ctx, batches)
	for i := range results {
		results[i].Unknown = nil // the heartbeats are those of no page
	}
	return results
}

// load adds operations to some topics, so many a second for a while, and returns how many
// calls a second wrote them, and the median and longest wait of one.
func (w *writes) load(tracker *track.Tracker, kind backend.OpKind, topics, rate int, long time.Duration) (calls float64, median, longest time.Duration) {
	before := w.calls
	added := make(map[presence.UserID]time.Time)
	for i := range int(long.Seconds() * float64(rate)) {
		user := presence.UserID(fmt.Sprint(kind, rate, "-", i))
		added[user] = time.Now()
		tracker.Write(presence.Topic(fmt.Sprint("thread:", i%topics)), backend.Op{Kind: kind, User: presence.User{ID: user}, Holder: "a.1", For: time.Minute})
		time.Sleep(time.Second / time.Duration(rate))
	}
	time.Sleep(time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	var waits []time.Duration
	for user, at := range added {
		waits = append(waits, w.at[user].Sub(at))
	}
	slices.Sort(waits)
	return float64(w.calls-before) / long.Seconds(), waits[len(waits)/2], waits[len(waits)-1]
}

// The interval of writes grows with the changes of a topic a second, and one after quiet is
// written at once.
func TestFlushIntervalGrowsWithLoad(t *testing.T) {
	for _, tc := range []struct {
		kind                 backend.OpKind
		topics, rate         int
		least, most          float64 // calls a second
		medianMost, longMost time.Duration
	}{
		{backend.OpJoin, 1, 5, 5, 5, 3 * time.Millisecond, 3 * time.Millisecond},
		{backend.OpJoin, 1, 10, 9, 10, 4 * time.Millisecond, 8 * time.Millisecond},
		{backend.OpJoin, 1, 50, 18, 50, 30 * time.Millisecond, 60 * time.Millisecond},
		{backend.OpJoin, 1, 130, 17, 26, 35 * time.Millisecond, 60 * time.Millisecond},
		{backend.OpJoin, 1, 1000, 17, 26, 35 * time.Millisecond, 60 * time.Millisecond},
		{backend.OpHeartbeat, 200, 1000, 17, 26, 35 * time.Millisecond, 60 * time.Millisecond}, // of all topics together
	} {
		bubble(t, fmt.Sprint(tc.kind, " ", tc.rate, " a second"), func(t *testing.T) {
			w := &writes{Store: memstore.New(), at: make(map[presence.UserID]time.Time)}
			tracker := start(t, w, track.Config{})
			calls, median, longest := w.load(tracker, tc.kind, tc.topics, tc.rate, 20*time.Second)
			if calls < tc.least || calls > tc.most || median > tc.medianMost || longest > tc.longMost {
				t.Errorf("got %.1f calls a second, waits of %v, the longest %v, want %v to %v calls, %v and %v",
					calls, median, longest, tc.least, tc.most, tc.medianMost, tc.longMost)
			}
			if _, _, wait := w.load(tracker, backend.OpJoin, 1, 1, time.Second); wait > 3*time.Millisecond {
				t.Errorf("after quiet a change waited for %v, want 3ms", wait)
			}
		})
	}
}

// A change of one topic waits neither for the pace of another one nor for that of heartbeats
// in its own.
func TestPaceIsOfOneTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{Store: memstore.New(), at: make(map[presence.UserID]time.Time)}
		tracker := start(t, w, track.Config{})
		for i := range 3000 {
			tracker.Write("busy", backend.Op{Kind: backend.OpJoin, User: presence.User{ID: presence.UserID(fmt.Sprint("j", i))}, Holder: "a.1", For: time.Minute})
			tracker.Write("quiet", backend.Op{Kind: backend.OpHeartbeat, User: presence.User{ID: presence.UserID(fmt.Sprint("b", i))}, Holder: "a.1", For: time.Minute})
			if i%500 == 499 {
				user, began := presence.UserID(fmt.Sprint("came", i)), time.Now()
				tracker.Write("quiet", backend.Op{Kind: backend.OpJoin, User: presence.User{ID: user}, Holder: "a.1", For: time.Minute})
				time.Sleep(5 * time.Millisecond)
				w.mu.Lock()
				if wait := w.at[user].Sub(began); wait < 0 || wait > 3*time.Millisecond {
					t.Errorf("a change in a quiet topic waited for %v, want 3ms", wait)
				}
				w.mu.Unlock()
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// Who waits for a write under load gets it once nobody else came for a moment, and the last
// writes of a tracker wait for nothing.
func TestWaitingForAWriteUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{Store: memstore.New(), at: make(map[presence.UserID]time.Time)}
		tracker := start(t, w, track.Config{MergeWindow: -1})
		connect := func(n int) (longest time.Duration) {
			var all sync.WaitGroup
			began := time.Now()
			for i := range n {
				all.Go(func() {
					c, err := tracker.Connect(t.Context(), track.ConnectOptions{
						Visitor: presence.Visitor{User: presence.User{ID: presence.UserID(fmt.Sprint(n, "-", i))}}, Topics: []presence.Topic{"busy"},
					})
					if err != nil {
						t.Error(err)
						return
					}
					t.Cleanup(func() { c.Close() })
				})
			}
			all.Wait()
			return time.Since(began)
		}
		connect(500)
		if wait := connect(400); wait > 40*time.Millisecond {
			t.Errorf("under load, 400 connections waited for %v, want 23ms or so", wait)
		}
	})
}
