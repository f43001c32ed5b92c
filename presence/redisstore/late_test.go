package redisstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// A sweep that the network held up, and that arrives when the leases of a whole
// fleet have expired, removes none: its node must look again first.
func TestSweepThatComesLate(t *testing.T) {
	now, late := time.Now(), time.Duration(0)
	clock := func() time.Time {
		now = now.Add(late) // on the way
		return now
	}
	store := redisstore.New(storeclock.Client{UniversalClient: redistest.Start(t).Client(), Now: clock}, redisstore.Config{})
	t.Cleanup(func() { store.Close() })
	join := backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "alice"}, Holder: "a.1", For: time.Second}
	noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{join}}})[0].Err)
	now = now.Add(5 * time.Second)
	for _, tt := range []struct {
		late time.Duration
		want int
	}{{2 * time.Second, 0}, {0, 1}} {
		late = tt.late
		now = now.Add(5 * time.Second) // claims run out
		if swept, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 1000}); err != nil || swept.Leaves != tt.want {
			t.Errorf("each step %v late: got %+v, %v, want %d leaves", tt.late, swept, err, tt.want)
		}
	}
}
