package track_test

import (
	"context"
	"errors"
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

// Topics that a client makes up while the store is out are forgotten with all that they cost: so
// many are tried as the table has, and not all that were named within a minute.
func TestForgottenTopicsAreNotLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{MaxTopics: 16})
		faults.Break(presencetest.Fault{Err: errors.New("down")}, presencetest.CallWatch)
		for i := range 400 {
			_, _ = tracker.View(t.Context(), presence.Topic(fmt.Sprint("made-up:", i)))
			time.Sleep(100 * time.Millisecond)
		}
		before := faults.Calls(presencetest.CallWatch)
		time.Sleep(10 * time.Second)
		if calls := faults.Calls(presencetest.CallWatch) - before; calls > 16*10 {
			t.Errorf("got %d tries in 10 s, want those of 16 topics", calls)
		}
	})
}

// However many topics visitors name at once, so many are loaded at a time that the store has room
// for other calls, and all are loaded.
func TestTopicsAreLoadedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: memstore.New()}
		tracker := start(t, store, track.Config{})
		looked := make(chan struct{})
		for i := range 1000 {
			go func() {
				_, _ = tracker.View(t.Context(), presence.Topic(fmt.Sprint("made-up:", i)))
				looked <- struct{}{}
			}()
		}
		for range 1000 {
			<-looked
		}
		time.Sleep(10 * time.Second)
		if most := store.most.Load(); most > 32 {
			t.Errorf("got %d topics loaded at a time, want 32 at most", most)
		}
		if view, err := tracker.View(t.Context(), "made-up:999"); err != nil || view.Stale {
			t.Errorf("got %v, want the last topic", err)
		}
	})
}

// A countingStore answers slowly, and counts the snapshots that are under way.
type countingStore struct {
	backend.Store
	now, most atomic.Int32
}

func (s *countingStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	s.most.Store(max(s.most.Load(), now)) // a lost race lowers it by little
	time.Sleep(100 * time.Millisecond)
	return s.Store.Snapshot(ctx, topic)
}

// A topic is not forgotten under a connection that waits for its other topics.
func TestRoomIsNotTakenFromWhoOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{MaxTopics: 64})
		hoard(t, tracker, "", "hog")
		_, err := tracker.View(t.Context(), "a:1")
		noError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { // which asks for more than its share
			for ctx.Err() == nil {
				_, _ = tracker.Connect(ctx, track.ConnectOptions{Topics: []presence.Topic{"hog:more"}, From: "hog"})
				time.Sleep(70 * time.Millisecond)
			}
		}()
		time.Sleep(980 * time.Millisecond) // it looks for room in a moment
		faults.Break(presencetest.Fault{Delay: 1900 * time.Millisecond}, presencetest.CallWatch)
		c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"a:1", "b:1"}, From: "home"})
		faults.Heal()
		c.Events(nil) // its first states
		bob := connect(t, tracker, track.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{"a:1"}, From: "office"})
		defer bob.Close()
		time.Sleep(time.Second)
		told := false
		for _, e := range c.Events(nil) {
			told = told || e.Topic == "a:1" && e.Type == presence.EventDiff
		}
		if !told {
			t.Error("alice is not told that bob joined")
		}
	})
}
