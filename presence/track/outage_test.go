package track_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

var errDown = errors.New("connection refused")

func TestLostDiffs(t *testing.T) {
	for _, tc := range []struct {
		name string
		bus  presencetest.Disturbance
	}{
		{"one lost, another after it", presencetest.Disturbance{Lose: 1}},
		{"two out of order", presencetest.Disturbance{Swap: true}},
		{"two lost and nothing after them", presencetest.Disturbance{Lose: 2}},
		{"late ones", presencetest.Disturbance{Delay: 700 * time.Millisecond}},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			faults := presencetest.NewFaults(memstore.New())
			tracker := start(t, faults, track.Config{})
			w := watch(t, tracker)
			faults.Disturb(tc.bus)
			tracker.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(10 * time.Millisecond)
			tracker.Seen(presence.Site, user("bob"), presence.Device{})
			time.Sleep(3 * time.Second)
			w.read() // checks the chain of prev
			if got := fmt.Sprint(len(w.roster["site"])); got != "2" {
				t.Errorf("got %v after %q, want alice and bob", w.roster, w.lines)
			}
			if states := tracker.Stats().Resyncs; states != 0 {
				t.Errorf("got %d states, want the log to close the gap", states)
			}
		})
	}
}

// An outage of the store changes nothing for pages and readers, and what
// happened meanwhile is done when it is over.
func TestOutage(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault presencetest.Fault
	}{
		{"refuses", presencetest.Fault{Err: errDown}},
		{"hangs", presencetest.Fault{Hang: true}},
		{"does it and reports an error", presencetest.Fault{Err: errDown, Landed: true}},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			faults := presencetest.NewFaults(memstore.New())
			tracker := start(t, faults, track.Config{})
			w := watch(t, tracker)
			stays := connect(t, tracker, track.ConnectOptions{Visitor: visitor("stays")})
			goes := connect(t, tracker, track.ConnectOptions{Visitor: visitor("goes")})
			w.want("diff +stays -", "diff +goes -")

			faults.Break(tc.fault)
			began := time.Now()
			for range 1000 {
				tracker.Seen(presence.Site, user("views"), presence.Device{})
				tracker.SeenGuest(presence.Site, "guest")
			}
			goes.Close()
			if waited := time.Since(began); waited != 0 {
				t.Errorf("page views waited %v for a store that is out", waited)
			}
			time.Sleep(20 * time.Second)
			if got := tracker.Stats().Pending; got > 10 && tc.fault.Landed == false {
				t.Errorf("got %d operations that wait, want them merged", got)
			}
			view, err := tracker.View(t.Context(), presence.Site)
			if err != nil || !view.Stale {
				t.Errorf("got %+v, %v, want the last that was known, marked stale", view, err)
			}
			began = time.Now()
			late := connect(t, tracker, track.ConnectOptions{Visitor: visitor("late")})
			if waited := time.Since(began); waited > 2*time.Second {
				t.Errorf("a stream waited %v, want the last that is known at once", waited)
			}
			_, err = tracker.View(t.Context(), "cold")
			if !errors.Is(err, presence.ErrStoreOut) {
				t.Errorf("a topic that nobody knows: got %v, want ErrStoreOut", err)
			}

			faults.Heal()
			time.Sleep(30 * time.Second)
			w.read()
			if got, want := fmt.Sprint(slices.Sorted(maps.Keys(w.roster["site"]))), "[late stays views]"; got != want {
				t.Errorf("got roster %v after %q, want %v", got, w.lines, want)
			}
			for _, line := range w.lines {
				if line == "diff + -stays" {
					t.Errorf("got a leave of a user who stayed: %q", w.lines)
				}
			}
			view, err = tracker.View(t.Context(), presence.Site)
			if err != nil || view.Stale {
				t.Errorf("got %+v, %v, want a view that is not stale", view, err)
			}
			_, _ = stays, late
		})
	}
}

// swapStore is a store that can be wiped: it goes on as a fresh one.
type swapStore struct {
	*memstore.Store
	notices *memstore.Store // as those of Redis: heard also where data was lost
	mu      sync.Mutex
	watches map[*backend.Watcher]presence.Topic
}

func newSwapStore() *swapStore {
	return &swapStore{Store: memstore.New(), notices: memstore.New(), watches: make(map[*backend.Watcher]presence.Topic)}
}

func (s *swapStore) now() *memstore.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store
}

func (s *swapStore) wipe() { s.goOnAs(memstore.New()) }

func (s *swapStore) goOnAs(other *memstore.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w, topic := range s.watches {
		_, _ = other.Watch(context.Background(), topic, *w)
	}
	s.Store = other
}

func (s *swapStore) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[&w] = topic
	return s.Store.Watch(ctx, topic, w)
}

func (s *swapStore) Apply(ctx context.Context, b []backend.Batch) []backend.Result {
	return s.now().Apply(ctx, b)
}
func (s *swapStore) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	return s.now().Sweep(ctx, opts)
}
func (s *swapStore) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	return s.now().Poll(ctx, p)
}
func (s *swapStore) Age(ctx context.Context, period time.Duration) (int, error) {
	return s.now().Age(ctx, period)
}
func (s *swapStore) Publish(ctx context.Context, n backend.Notice) error {
	return s.notices.Publish(ctx, n)
}
func (s *swapStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	return s.notices.Listen(ctx, fn)
}
func (s *swapStore) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	return s.notices.Statuses(ctx, users...)
}
func (s *swapStore) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	return s.notices.PutStatus(ctx, user, c, again)
}
func (s *swapStore) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	return s.notices.Secret(ctx, offer)
}
func (s *swapStore) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	return s.now().ClaimErasures(ctx, most, hold)
}
func (s *swapStore) Hear(ctx context.Context) error { return s.notices.Hear(ctx) }
func (s *swapStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	return s.now().Snapshot(ctx, topic)
}
func (s *swapStore) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	return s.now().Log(ctx, topic, after)
}
func (s *swapStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	return s.now().Counts(ctx, topics...)
}
func (s *swapStore) Recent(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	return s.now().Recent(ctx, topic, q)
}
func (s *swapStore) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	return s.now().Topics(ctx, after, most)
}

// A store that lost everything gets back what is live, and for users who
// stayed nothing is seen.
func TestWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := pair(t, store)
		w := watch(t, a)
		a.Seen(presence.Site, user("views"), presence.Device{})
		connect(t, a, track.ConnectOptions{Visitor: visitor("here")})
		connect(t, b, track.ConnectOptions{Visitor: visitor("there")})
		goes := connect(t, b, track.ConnectOptions{Visitor: visitor("goes")})
		w.skip()
		if got, want := fmt.Sprint(slices.Sorted(maps.Keys(w.roster["site"]))), "[goes here there views]"; got != want {
			t.Fatalf("got roster %v, want %v", got, want)
		}
		before := w.conn.Cursor()

		goes.Drop()
		store.wipe()
		time.Sleep(5 * time.Second)
		w.want("diff + -") // another version, and nobody left or came
		time.Sleep(20 * time.Second)
		w.want("diff + -goes")
		comes := connect(t, b, track.ConnectOptions{Visitor: visitor("comes")})
		w.want("diff +comes -")
		comes.Drop()
		w.want("diff + -comes")

		back := openPage(t, a, track.ConnectOptions{Cursor: before})
		back.want("state here,there,views")
		time.Sleep(5 * time.Minute)
		w.want("diff + -views")
	})
}

// Who signs out or turns invisible when the store has just lost its data is not
// provisional.
func TestGoodbyeAfterAWipe(t *testing.T) {
	for name, goodbye := range map[string]func(context.Context, *track.Tracker) error{
		"signs out": func(ctx context.Context, a *track.Tracker) error { return a.SignOut(ctx, "goes") },
		"turns invisible": func(ctx context.Context, a *track.Tracker) error {
			return a.SetStatus(ctx, "goes", presence.Invisible)
		},
	} {
		for _, after := range []time.Duration{0, 3 * time.Second} { // before the nodes find out, and after
			bubble(t, fmt.Sprint(name, " after ", after), func(t *testing.T) {
				store := newSwapStore()
				a, b := pair(t, store)
				w := watch(t, b)
				faults := presencetest.NewFaults(store)
				c := start(t, faults, track.Config{Node: "c"})
				connect(t, c, track.ConnectOptions{Visitor: visitor("goes")})
				connect(t, a, track.ConnectOptions{Visitor: visitor("stays")})
				w.skip()
				faults.Break(presencetest.Fault{Err: errDown}) // so that nobody puts the user back
				store.wipe()
				time.Sleep(after)
				noError(t, goodbye(t.Context(), a))
				time.Sleep(4 * time.Second)
				w.read()
				if got, want := fmt.Sprint(slices.Sorted(maps.Keys(w.roster["site"]))), "[stays]"; got != want {
					t.Errorf("got roster %v after %q, want %v", got, w.lines, want)
				}
				time.Sleep(time.Minute)
				w.read()
				if got, want := fmt.Sprint(slices.Sorted(maps.Keys(w.roster["site"]))), "[stays]"; got != want {
					t.Errorf("later got roster %v after %q, want %v", got, w.lines, want)
				}
			})
		}
	}
}

// What waits for a slow store is merged, but not across what rule 3 asks for: a
// page view that came after a connection stays after it.
func TestMergedWritesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		w := watch(t, tracker)
		faults.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallApply)
		tracker.Seen(presence.Site, user("first"), presence.Device{}) // the writer is busy with it
		time.Sleep(10 * time.Millisecond)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		opened := make(chan *track.Connection)
		go func() {
			c, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
			if err != nil {
				t.Error(err)
			}
			opened <- c
		}()
		synctest.Wait()
		time.Sleep(time.Microsecond)
		for range 3 {
			tracker.Seen(presence.Site, user("alice"), presence.Device{})
		}
		if got := tracker.Stats().Pending; got != 1 {
			t.Errorf("got %d cells that wait, want 1: of the join, and the latest view", got)
		}
		(<-opened).Close()
		time.Sleep(4 * time.Minute)
		if w.read(); w.roster["site"]["alice"] == "" {
			t.Errorf("got %q, want alice online by her last page view", w.lines)
		}
	})
}

// A sign-out is done whatever else of the user waits with it.
func TestSignOutAmongOtherWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		w := watch(t, tracker)
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		w.want("diff +alice -")
		faults.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallApply)
		tracker.Seen(presence.Site, user("bob"), presence.Device{}) // the writer is busy with it
		time.Sleep(10 * time.Millisecond)
		done := make(chan error)
		go func() { done <- tracker.SetStatus(t.Context(), "alice", presence.Away) }()
		synctest.Wait()
		go func() { done <- tracker.SignOut(t.Context(), "alice") }()
		synctest.Wait()
		go func() { done <- tracker.SetStatus(t.Context(), "alice", presence.Busy) }()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		w.read()
		if _, there := w.roster["site"]["alice"]; there {
			t.Errorf("alice is online after she signed out: %q", w.lines)
		}
	})
}
