package redisstore_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A snapshot of a large roster is read in pieces while users come, go and change;
// it is still exactly the roster of its version, as the log makes it.
func TestSnapshotUnderChurn(t *testing.T) {
	t.Parallel()
	const users, most, snapshots = 6000, 20_000, 10
	server := redistest.Start(t)
	config := redisstore.Config{LogSize: 1_000_000, Timeout: patience}
	store := redisstore.New(server.Client(), config)
	defer store.Close()
	apply(t, store, ops(backend.OpJoin, 0, users, 0, time.Hour)...)

	stop := make(chan struct{})
	var changes atomic.Int64
	var churn sync.WaitGroup
	churn.Go(func() {
		other := redisstore.New(server.Client(), config)
		defer other.Close()
		rnd := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			var some []backend.Op
			for range 1 + rnd.IntN(20) {
				i, kind := rnd.IntN(most), []backend.OpKind{backend.OpJoin, backend.OpRelease, backend.OpUpdate}[rnd.IntN(3)]
				some = append(some, ops(kind, i, i+1, 0, lengthOf(kind))...)
				some[len(some)-1].User.Status = []presence.Status{presence.Online, presence.Away}[rnd.IntN(2)]
			}
			apply(t, other, some...)
			changes.Add(1)
		}
	})
	taken := make(map[presence.DiffID][]presence.Member)
	for range snapshots {
		before := changes.Load()
		snap, err := store.Snapshot(t.Context(), presence.Site)
		noError(t, err)
		taken[snap.ID] = snap.Members
		for changes.Load() < before+6 && !t.Failed() { // which a slow machine makes during a snapshot or not
			time.Sleep(time.Millisecond)
		}
	}
	close(stop)
	churn.Wait()

	diffs, err := store.Log(t.Context(), presence.Site, backend.Origin)
	noError(t, err)
	roster := make(map[presence.UserID]presence.Member)
	during := 0 // diffs made from the first snapshot to the last
	for _, d := range diffs {
		for _, m := range slices.Concat(d.Joins, d.Updates) {
			roster[m.ID] = m
		}
		for _, l := range d.Leaves {
			delete(roster, l.ID)
		}
		if n := len(taken); n > 0 && n < snapshots {
			during++
		}
		members, ok := taken[d.ID]
		if !ok {
			continue
		}
		delete(taken, d.ID)
		if len(members) != len(roster) {
			t.Errorf("the snapshot at %s has %d members, want %d", d.ID, len(members), len(roster))
		}
		for _, m := range members {
			if want, ok := roster[m.ID]; !ok || !m.Since.Equal(want.Since) || !m.SameProfile(want.User) {
				t.Fatalf("the snapshot at %s has %+v, want %+v", d.ID, m, want)
			}
		}
	}
	if len(taken) > 0 {
		t.Errorf("%d snapshots have versions that the log does not know", len(taken))
	}
	if during < 5*snapshots {
		t.Errorf("only %d diffs were made during %d snapshots: this shows nothing", during, snapshots)
	}
}
