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

// A tellingStore tells which topics were written.
type tellingStore struct {
	askedStore
	mu     sync.Mutex
	told   []presence.Topic
	wiped  bool // it does not know the marks from before
	era    int
	deaf   bool // it notes nothing
	cannot bool // it is a cluster, which cannot tell
}

func (s *tellingStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	results := s.Store.Apply(ctx, batches)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range batches {
		if !s.deaf {
			s.told = append(s.told, b.Topic)
		}
	}
	return results
}

func (s *tellingStore) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	polled, err := s.Store.Poll(ctx, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wiped {
		s.wiped = false
		s.era++
	}
	if s.cannot {
		return polled, err
	}
	var at, era int
	_, bad := fmt.Sscan(p.Mark, &at, &era)
	c := backend.Changes{Mark: fmt.Sprint(len(s.told), " ", s.era), All: bad != nil || era != s.era}
	if !c.All {
		c.Topics = s.told[at:]
	}
	polled.Changes = c
	return polled, err
}

// A store that tells which topics changed is asked for those, and for each topic once a minute; after a loss of data, for
// each topic once a second.
func TestFiguresThatAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 200
		store := &tellingStore{askedStore: askedStore{Store: memstore.New()}}
		here, there := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		names := make([]presence.Topic, many)
		for i := range names {
			names[i] = presence.Topic(fmt.Sprintf("thread:%d", i))
			connect(t, here, track.ConnectOptions{Topics: names[i : i+1], Observe: true})
		}
		time.Sleep(10 * time.Second)
		asked := func(d time.Duration) (n int) {
			store.take()
			time.Sleep(d)
			for _, topics := range store.take() {
				n += topics
			}
			return n
		}
		if got := asked(2 * time.Minute); got < 2*many-10 || got > 3*many {
			t.Errorf("asked for the figures of %d topics in two minutes, want each of %d twice, and little more", got, many)
		}
		guests := 0
		comes := func(most time.Duration, meanwhile ...*bool) {
			t.Helper()
			guests++
			there.SeenGuest(names[7], fmt.Sprint("guest", guests))
			time.Sleep(100 * time.Millisecond) // the guest is written
			store.mu.Lock()
			for _, is := range meanwhile {
				*is = true
			}
			store.mu.Unlock()
			for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				view, err := here.View(t.Context(), names[7])
				noError(t, err)
				if view.Guests == guests {
					return
				}
				if time.Since(began) > most {
					t.Fatalf("%v after guest %d came: got %d", most, guests, view.Guests)
				}
			}
		}
		for range 3 {
			comes(time.Second)
		}
		time.Sleep(10 * time.Second)
		store.mu.Lock()
		store.deaf = true
		store.mu.Unlock()
		here.Hear(backend.Notice{Kind: backend.NoticeLost, Ago: time.Millisecond})
		comes(2 * time.Second) // the store has lost data, and perhaps notes
		time.Sleep(10 * time.Second)
		comes(time.Minute + time.Second) // a note that was lost
		time.Sleep(10 * time.Second)
		comes(time.Second, &store.wiped)
		store.mu.Lock()
		store.wiped = true
		store.mu.Unlock()
		if got := asked(2 * time.Second); got < many {
			t.Errorf("asked for the figures of %d topics after the store was wiped, want all of %d", got, many)
		}
		store.mu.Lock()
		store.cannot = true
		store.mu.Unlock()
		time.Sleep(10 * time.Second)
		if got := asked(20 * time.Second); got < 19*many || got > 21*many {
			t.Errorf("asked a store that cannot tell for the figures of %d topics in 20 s, want all of %d once a second", got, many)
		}
	})
}

// A mutedStore loses the messages about topics.
type mutedStore struct{ *tellingStore }

func (s mutedStore) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	w.Diff = func(backend.Diff) {}
	return s.tellingStore.Watch(ctx, topic, w)
}

// A diff whose message was lost is found by what a poll tells, and by two answers about figures.
func TestLostDiffIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &tellingStore{askedStore: askedStore{Store: memstore.New()}}
		here, there := start(t, mutedStore{store}, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		connect(t, here, track.ConnectOptions{Observe: true})
		time.Sleep(20 * time.Second)
		for i := range 5 {
			connect(t, there, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i))})
			time.Sleep(2200 * time.Millisecond)
			if got := view(t, here).Total; got != i+1 {
				t.Errorf("2.2 s after user %d came: %d are there", i+1, got)
			}
		}
	})
}

// What polls tell does not add up while the store refuses sweeps, for however long.
func TestToldTopicsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &tellingStore{askedStore: askedStore{Store: memstore.New()}}
		faults := presencetest.NewFaults(store)
		node := start(t, faults, track.Config{})
		connect(t, node, track.ConnectOptions{Observe: true})
		time.Sleep(20 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallSweep)
		for i := range 300 {
			node.SeenGuest(presence.Topic(fmt.Sprint("thread:", i)), "g")
			_, _ = node.Sweep(t.Context())
			time.Sleep(time.Second)
		}
		if n := node.ToldTopics(); n > 10 {
			t.Errorf("the node remembers %d topics, want those of the latest poll", n)
		}
	})
}

// A poll that fails leaves no page stale for longer than until the next one.
func TestOnePollFails(t *testing.T) {
	for offset := range 40 {
		synctest.Test(t, func(t *testing.T) {
			faults := presencetest.NewFaults(&tellingStore{askedStore: askedStore{Store: memstore.New()}})
			node := start(t, faults, track.Config{})
			connect(t, node, track.ConnectOptions{Visitor: visitor("alice")})
			connect(t, node, track.ConnectOptions{Topics: []presence.Topic{"busy"}, Observe: true})
			time.Sleep(20*time.Second + time.Duration(offset)*50*time.Millisecond)
			faults.Break(presencetest.Fault{Delay: 50 * time.Millisecond}, presencetest.CallCounts) // the next poll is back sooner
			faults.Break(presencetest.Fault{Err: errDown, Times: 1}, presencetest.CallPoll)
			for i := range 30 {
				node.SeenGuest("busy", fmt.Sprint("g", i))
				time.Sleep(100 * time.Millisecond)
			}
			if view(t, node).Stale {
				t.Errorf("offset %d: the page is stale 3 s later", offset)
			}
		})
	}
}

// A store that hangs is noticed as soon by a node with many topics.
func TestHangWithManyTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(&tellingStore{askedStore: askedStore{Store: memstore.New()}})
		node := start(t, faults, track.Config{})
		for i := range 100 {
			connect(t, node, track.ConnectOptions{Topics: []presence.Topic{presence.Topic(fmt.Sprintf("thread:%d", i))}, Observe: true})
		}
		time.Sleep(20 * time.Second)
		faults.Break(presencetest.Fault{Delay: time.Hour})
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			view, err := node.View(t.Context(), "thread:7")
			noError(t, err)
			if view.Stale {
				break
			}
			if time.Since(began) > 3600*time.Millisecond {
				t.Fatalf("after %v the pages do not know that the store hangs", time.Since(began))
			}
		}
	})
}

// A node that nobody uses asks the store for nothing but the renewals of its own lease. It learns of an outage
// by them.
func TestNodeThatNobodyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		node := start(t, faults, track.Config{})
		node.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(10*time.Minute + time.Second) // between two sweeps
		before := faults.Calls(presencetest.CallCounts)
		sweeps, renewals := faults.Calls(presencetest.CallSweep), faults.Calls(presencetest.CallPoll)
		time.Sleep(time.Minute)
		if got := faults.Calls(presencetest.CallCounts) - before; got > 0 {
			t.Errorf("asked %d times for figures in a minute, want never", got)
		}
		if got := faults.Calls(presencetest.CallSweep) - sweeps; got > 6 {
			t.Errorf("asked %d times in a minute what to sweep, want 6 times at most", got)
		}
		if got := faults.Calls(presencetest.CallPoll) - renewals; got < 17 || got > 19 {
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
