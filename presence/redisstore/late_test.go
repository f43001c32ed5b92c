package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// heldUp holds up one of the commands and pipelines of a client.
type heldUp struct {
	left int // how many pass before it
	by   time.Duration
}

func (h *heldUp) pass() {
	if h.left--; h.left == -1 {
		time.Sleep(h.by)
	}
}

func (h *heldUp) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *heldUp) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.pass()
		return next(ctx, cmd)
	}
}

func (h *heldUp) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.pass()
		return next(ctx, cmds)
	}
}

// Whichever call of a sweep waits for a server that hangs, the sweep removes no lease that expires meanwhile.
func TestSweepOfWhichOneCallHangs(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	hold := &heldUp{left: -1, by: 600 * time.Millisecond}
	client.AddHook(hold)
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { store.Close() })
	join := backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "alice"}, Holder: "a.1", For: 500 * time.Millisecond}
	sweep := func() int {
		swept, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 1000, Nodes: true})
		noError(t, err)
		return swept.Leaves
	}
	sweep() // loads the scripts
	for call := range 8 {
		joined := time.Now()
		noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{join}}})[0].Err)
		hold.left = call
		left := sweep()
		inTime := time.Since(joined)-hold.by < 400*time.Millisecond // else a busy machine let the lease end before the sweep
		if left != 0 && inTime {
			t.Errorf("call %d hangs: %d users left", call, left)
		}
		held := hold.left < 0
		hold.left = -1
		time.Sleep(600 * time.Millisecond)
		for began := time.Now(); left == 0 && sweep() == 0; time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > patience {
				t.Fatal("alice does not leave")
			}
		}
		if !held {
			return
		}
	}
}
