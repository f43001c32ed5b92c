package track_test

import (
	"context"
	"fmt"
	"sync"
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

type tardyStore struct {
	backend.Store
	d atomic.Int64
}

func (s *tardyStore) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(s.d.Load())):
		return nil
	}
}

func (s *tardyStore) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	if err := s.wait(ctx); err != nil {
		return backend.Polled{}, err
	}
	return s.Store.Poll(ctx, p)
}

func (s *tardyStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.Counts(ctx, topics...)
}

// A store that answers after 2.7 s is slow, and not out: other calls have 3 s.
func TestPollsOfASlowStore(t *testing.T) {
	for _, d := range []time.Duration{time.Second, 2 * time.Second, 2400 * time.Millisecond, 2700 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			shared := memstore.New()
			slow := &tardyStore{Store: shared}
			here := start(t, slow, track.Config{Node: "a"})
			there := start(t, shared, track.Config{Node: "b"})
			connect(t, here, track.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(20 * time.Second)
			slow.d.Store(int64(d))
			out, gone := 0, 0
			for range 60 {
				time.Sleep(time.Second)
				if here.StoreOut() {
					out++
				}
				v, err := there.View(t.Context(), presence.Site)
				noError(t, err)
				if v.Total != 1 {
					gone++
				}
			}
			if out > 0 || gone > 0 {
				t.Errorf("answers after %v: out in %d of 60 s, the user is gone in %d", d, out, gone)
			}
		})
	}
}

type gapStore struct {
	backend.Store
	mu sync.Mutex
	at []time.Time
}

func (s *gapStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	return s.Store.Counts(ctx, topics...)
}

// With a store that cannot tell what changed, the figures of a topic at rest are asked for once a second.
func TestFiguresAreAskedForEachSecond(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			store := &gapStore{Store: memstore.New()}
			here := start(t, store, track.Config{Node: "a"})
			connect(t, here, track.ConnectOptions{Topics: []presence.Topic{"x"}, Observe: true})
			time.Sleep(10 * time.Second)
			store.mu.Lock()
			store.at = nil
			store.mu.Unlock()
			time.Sleep(time.Minute)
			store.mu.Lock()
			defer store.mu.Unlock()
			for i, at := range store.at[1:] {
				if gap := at.Sub(store.at[i]); gap > 1300*time.Millisecond {
					t.Errorf("the figures were asked for after %v, want one second", gap)
				}
			}
		})
	}
}

type countedStore struct {
	*tellingStore
	polls, counts atomic.Int64
}

func (s *countedStore) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	s.polls.Add(1)
	return s.tellingStore.Poll(ctx, p)
}

func (s *countedStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	s.counts.Add(1)
	return s.tellingStore.Counts(ctx, topics...)
}

// A renewingStore counts the polls that renew the lease of a process.
type renewingStore struct {
	backend.Store
	renewals atomic.Int64
}

func (s *renewingStore) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	if p.Term > 0 {
		s.renewals.Add(1)
	}
	return s.Store.Poll(ctx, p)
}

// A node renews its lease every three seconds, and not with each poll: a process that is killed would have all of the lease left.
func TestPollsThatRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &renewingStore{Store: memstore.New()}
		connect(t, start(t, store, track.Config{}), track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(20 * time.Second)
		store.renewals.Store(0)
		time.Sleep(time.Minute)
		if n := store.renewals.Load(); n < 17 || n > 21 {
			t.Errorf("the lease was renewed %d times in a minute, want about 20 times", n)
		}
	})
}

// The figures of a topic that changes all the time are asked for twice a second.
func TestFiguresOfATopicThatChanges(t *testing.T) {
	for _, cannot := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			shared := &tellingStore{askedStore: askedStore{Store: memstore.New()}, cannot: cannot}
			store := &countedStore{tellingStore: shared}
			here, there := start(t, store, track.Config{Node: "a"}), start(t, shared, track.Config{Node: "b"})
			connect(t, here, track.ConnectOptions{Topics: []presence.Topic{"x"}, Observe: true})
			time.Sleep(10 * time.Second)
			store.polls.Store(0)
			store.counts.Store(0)
			for i := range 200 {
				there.SeenGuest("x", fmt.Sprint("g", i))
				time.Sleep(100 * time.Millisecond)
			}
			if n := float64(store.counts.Load()) / 20; n > 2.2 {
				t.Errorf("cannot tell %v: asked for figures %v times a second, want twice; polls %v/s", cannot, n, float64(store.polls.Load())/20)
			}
		})
	}
}

type endedStore struct {
	backend.Store
	claimed chan time.Time
}

func (s *endedStore) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	claimed, err := s.Store.ClaimErasures(ctx, most, hold)
	if len(claimed) > 0 {
		s.claimed <- time.Now()
	}
	return claimed, err
}

// An erasure whose node died is taken up within ten seconds (docs/reliability.md), also by a node that nobody uses.
func TestErasureOfANodeThatDied(t *testing.T) {
	for _, cfg := range []track.Config{{Node: "a"}, {Node: "a", NodeTTL: 45 * time.Second}, {Node: "a", TTL: 10 * time.Minute, NodeTTL: 10 * time.Minute}} {
		var worst time.Duration
		for shift := time.Duration(0); shift < 4*time.Second; shift += 500 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				store := &endedStore{Store: memstore.New(), claimed: make(chan time.Time, 10)}
				start(t, store, cfg)
				time.Sleep(2*time.Minute + shift + 100*time.Millisecond)
				began := time.Now()
				_, err := store.AddErasure(t.Context(), "alice", track.ErasureHold) // by a node that dies now
				noError(t, err)
				worst = max(worst, (<-store.claimed).Sub(began))
			})
		}
		if worst > 10*time.Second {
			t.Errorf("NodeTTL %v, TTL %v: taken up after %v", cfg.NodeTTL, cfg.TTL, worst)
		}
	}
}

type listDirectory struct {
	presence.Directory
	backend.ErasureList
	claims atomic.Int64
}

func (d *listDirectory) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	d.claims.Add(1)
	return d.ErasureList.ClaimErasures(ctx, most, hold)
}

// An erasure in the store's list, from before the site had a Directory with a list, does not make nodes ask the Directory more often.
func TestErasureInTheStoreBesideADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		_, err := store.AddErasure(t.Context(), "alice", 0)
		noError(t, err)
		d := &listDirectory{Directory: &presencetest.MemoryDirectory{}, ErasureList: memstore.New()}
		here := start(t, store, track.Config{Node: "a", Directory: d})
		connect(t, here, track.ConnectOptions{Topics: []presence.Topic{"x"}, Observe: true})
		time.Sleep(10 * time.Second)
		d.claims.Store(0)
		time.Sleep(time.Minute)
		if n := d.claims.Load(); n > 31 {
			t.Errorf("asked the Directory's list %d times a minute, want 30", n)
		}
	})
}
