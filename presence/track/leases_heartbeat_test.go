package track_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// renewedStore remembers when each lease was last made or renewed, and the longest time between
// two of these moments.
type renewedStore struct {
	backend.Store
	mu      sync.Mutex
	last    map[presence.Holder]time.Time
	longest time.Duration
	most    int // heartbeats in one call
}

func (s *renewedStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	beats := 0
	for _, b := range batches {
		for _, op := range b.Ops {
			switch op.Kind {
			case backend.OpHeartbeat:
				beats++
				s.longest = max(s.longest, time.Since(s.last[op.Holder]))
				s.last[op.Holder] = time.Now()
			case backend.OpJoin:
				s.last[op.Holder] = time.Now()
			case backend.OpRelease, backend.OpDrop:
				delete(s.last, op.Holder)
			}
		}
	}
	s.most = max(s.most, beats)
	s.mu.Unlock()
	return s.Store.Apply(ctx, batches)
}

// take returns what was seen since the call before.
func (s *renewedStore) take() (longest, oldest time.Duration, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.last {
		oldest = max(oldest, time.Since(at))
	}
	longest, most = s.longest, s.most
	s.longest, s.most = 0, 0
	return longest, oldest, most
}

// However many connections there are, and come and go, each is renewed once in a heartbeat, and
// never later. Many are renewed in parts.
func TestHeartbeatsInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &renewedStore{Store: memstore.New(), last: make(map[presence.Holder]time.Time)}
		tracker := start(t, store, track.Config{MaxRoster: 1, MaxConnectionsPerUser: -1})
		every := tracker.Config().Heartbeat()
		var open []*track.Connection
		for _, step := range []struct {
			connections int
			most        int // heartbeats in one call, once all had their turn
		}{{100, 100}, {490, 490}, {510, 330}, {3000, 800}, {2900, 800}, {600, 500}, {120, 120}} {
			for len(open) < step.connections {
				topics := []presence.Topic{presence.Site, presence.Topic(fmt.Sprint("thread:", len(open)%20))}[:1+len(open)/1000%2]
				open = append(open, connect(t, tracker, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", len(open))), Topics: topics}))
				if len(open)%100 == 0 {
					time.Sleep(700 * time.Millisecond)
				}
			}
			for len(open) > step.connections {
				open[len(open)-1].Close()
				open = open[:len(open)-1]
			}
			time.Sleep(2 * every)
			store.take()
			time.Sleep(3 * every)
			longest, oldest, most := store.take()
			if most > step.most || most == 0 {
				t.Errorf("%d connections: %d heartbeats in one call, want some and %d at most", step.connections, most, step.most)
			}
			if late := every + 100*time.Millisecond; max(longest, oldest) > late || longest < every/2 {
				t.Errorf("%d connections: renewed after %v, the oldest %v ago, want %v at most, and half of that at least", step.connections, longest, oldest, late)
			}
		}
		for _, c := range open {
			c.Close()
		}
		if longest, _, _ := store.take(); longest > every+100*time.Millisecond {
			t.Errorf("in between: renewed after %v, want %v at most", longest, every)
		}
	})
}
