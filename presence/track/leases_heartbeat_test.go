package track_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
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
	last    map[lease]time.Time
	longest time.Duration
	most    int // heartbeats in one call
}

func (s *renewedStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	beats := 0
	for _, b := range batches {
		for _, op := range b.Ops {
			of := lease{b.Topic, op.User.ID, op.Holder}
			switch op.Kind {
			case backend.OpHeartbeat:
				beats++
				s.longest = max(s.longest, time.Since(s.last[of]))
				s.last[of] = time.Now()
			case backend.OpJoin:
				s.last[of] = time.Now()
			case backend.OpRelease:
				delete(s.last, of)
			}
		}
	}
	s.most = max(s.most, beats)
	s.mu.Unlock()
	return s.Store.Apply(ctx, batches)
}

type lease struct {
	topic  presence.Topic
	user   presence.UserID
	holder presence.Holder
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
	need.Slow(t, "thousands of connections")
	synctest.Test(t, func(t *testing.T) {
		store := &renewedStore{Store: memstore.New(), last: make(map[lease]time.Time)}
		tracker := start(t, store, track.Config{MaxRoster: 1, MaxConnectionsPerUser: -1})
		const every = 90 * time.Second
		var open []*track.Connection
		for _, step := range []struct {
			connections int
			most        int // heartbeats in one call, once all had their turn
		}{{100, 20}, {510, 80}, {3000, 500}, {600, 100}, {120, 30}} {
			for len(open) < step.connections {
				topics := []presence.Topic{presence.Site, presence.Topic(fmt.Sprint("thread:", len(open)%200))}[:1+len(open)/1000%2]
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

// The users of a small topic are renewed together, since each batch of heartbeats costs the store something. Those
// of a large one are not, since a join would wait behind them.
func TestHeartbeatsOfATopicGoTogether(t *testing.T) {
	need.Slow(t, "thousands of connections")
	synctest.Test(t, func(t *testing.T) {
		store := &batchStore{Store: memstore.New(), batches: make(map[presence.Topic]int)}
		tracker := start(t, store, track.Config{MaxRoster: 1, MaxConnectionsPerUser: -1})
		for i := range 4000 {
			topic := presence.Topic(fmt.Sprint("thread:", i%100))
			if i%4 == 0 {
				topic = "crowd:1"
			}
			connect(t, tracker, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i)), Topics: []presence.Topic{presence.Site, topic}})
			if i%100 == 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
		const every = 90 * time.Second
		time.Sleep(2 * every)
		store.take()
		time.Sleep(4 * every)
		batches := store.take()
		if got := batches["thread:1"]; got < 4 || got > 5 {
			t.Errorf("in four intervals, the users of a thread were renewed in %d batches, want one in each", got)
		}
		if got := batches["crowd:1"]; got < 12 || got > 20 {
			t.Errorf("in four intervals, the users of a crowd were renewed in %d batches, want four in each", got)
		}
	})
}

// A batchStore counts the batches with heartbeats.
type batchStore struct {
	backend.Store
	mu      sync.Mutex
	batches map[presence.Topic]int
}

func (s *batchStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	for _, b := range batches {
		if b.Ops[0].Kind == backend.OpHeartbeat {
			s.batches[b.Topic]++
		}
	}
	s.mu.Unlock()
	return s.Store.Apply(ctx, batches)
}

func (s *batchStore) take() map[presence.Topic]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches := s.batches
	s.batches = make(map[presence.Topic]int)
	return batches
}
