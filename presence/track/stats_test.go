package track_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// slowStore takes its time to apply, and has figures of its own.
type slowStore struct {
	backend.Store
	failing atomic.Bool
}

func (s *slowStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	time.Sleep(20 * time.Millisecond)
	if !s.failing.Load() {
		return s.Store.Apply(ctx, batches)
	}
	results := make([]backend.Result, len(batches))
	for i := range results {
		results[i].Err = errors.New("full")
	}
	return results
}

func (s *slowStore) Stats() backend.StoreStats {
	return backend.StoreStats{BreakerOpen: true, Broken: 2, Refused: 3, Invalid: 4}
}

func TestStatsTimeTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{Store: memstore.New()}
		tracker := start(t, store, track.Config{Logger: slog.New(slog.DiscardHandler)})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Second)
		synctest.Wait()
		stats := tracker.Stats()
		apply := stats.Calls["apply"]
		if apply.Failed != 0 || apply.Latency.Count != 1 || apply.Latency.Sum != int64(20*time.Millisecond) {
			t.Errorf("got %+v, want one call of 20ms", apply)
		}
		at := slices.Index(apply.Latency.Bounds, int64(25*time.Millisecond))
		if apply.Latency.Counts[at-1] != 0 || apply.Latency.Counts[at] != 1 || apply.Latency.Counts[len(apply.Latency.Counts)-1] != 1 {
			t.Errorf("got counts %v, want one from 25ms on", apply.Latency.Counts)
		}
		if stats.StoreOut || len(stats.Calls) != 25 {
			t.Errorf("got store out %v and %d operations, want false and 25", stats.StoreOut, len(stats.Calls))
		}
		if want := (backend.StoreStats{BreakerOpen: true, Broken: 2, Refused: 3, Invalid: 4}); stats.Store != want {
			t.Errorf("got %+v of the store's own, want %+v", stats.Store, want)
		}

		store.failing.Store(true)
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		time.Sleep(time.Second)
		if stats = tracker.Stats(); !stats.StoreOut || stats.Calls["apply"].Failed == 0 {
			t.Errorf("got store out %v and %d failed, want true and some", stats.StoreOut, stats.Calls["apply"].Failed)
		}
		store.failing.Store(false)
	})
}

func TestStatsCountSessionsAndJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxConnectionsPerUser: 2, LastSeenKeep: time.Minute})
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, tracker, track.ConnectOptions{})
		for range 3 {
			if _, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}}); !errors.Is(err, presence.ErrTooManyConnections) {
				t.Errorf("got %v, want ErrTooManyConnections", err)
			}
		}
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("bob")}).Close()
		tracker.Seen(presence.Site, user("carol"), presence.Device{})
		time.Sleep(10 * time.Minute)
		if _, err := tracker.Trim(t.Context()); err != nil {
			t.Error(err)
		}
		got := tracker.Stats()
		if s := got.Sessions; s.Count != 3 || s.Sum != 4 || !slices.Equal(s.Counts, []uint64{2, 3, 3, 3, 3, 3, 3}) {
			t.Errorf("got sessions %+v, want 1, 2 and 1", s)
		}
		if got.Connections != 3 || got.ConnectedUsers != 1 || got.Refused != 3 {
			t.Errorf("got %d connections of %d users and %d refused, want 3, 1 and 3", got.Connections, got.ConnectedUsers, got.Refused)
		}
		if got.Swept != 2 || got.Leaves != 2 || got.Trimmed != 2 || got.Sweeps < 500 || got.Rotations < 1 {
			t.Errorf("got %d leases, %d leaves, %d trimmed, %d sweeps and %d rotations, want two each, 600 and some", got.Swept, got.Leaves, got.Trimmed, got.Sweeps, got.Rotations)
		}
	})
}
