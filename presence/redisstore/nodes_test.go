package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// A sweep of a dead node that runs out of time goes on where it was.
func TestSweepOfNodeGoesOn(t *testing.T) {
	clock := time.Now()
	client := redistest.Start(t).Client()
	store := redisstore.New(storeclock.Client{UniversalClient: client, Now: func() time.Time { return clock }}, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { store.Close() })
	const topics = 2000
	for i := range topics / 500 {
		batches := make([]backend.Batch, 500)
		for k := range batches {
			batches[k] = joinBatch(presence.Topic(fmt.Sprintf("thread:%04d", 500*i+k)), "bob", "b.q.1")
		}
		store.Apply(t.Context(), batches)
	}
	store.Apply(t.Context(), []backend.Batch{joinBatch("thread:9999", "alice", "a.p.1")})
	renew := func(process string, term time.Duration) {
		if _, err := store.Poll(t.Context(), backend.Poll{Process: process, Term: term}); err != nil {
			t.Fatal(err)
		}
	}
	renew("b.q", time.Hour)
	renew("a.p", 10*time.Second)
	clock = clock.Add(11 * time.Second)
	if _, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 10 * topics}); err != nil { // the others are looked at
		t.Fatal(err)
	}
	cut := &cutter{}
	client.AddHook(cut)
	there := func() bool { // a sweep that is cut off may have ended her all the same
		snap, err := store.Snapshot(t.Context(), "thread:9999")
		if err != nil {
			t.Fatal(err)
		}
		return len(snap.Members) > 0
	}
	for sweeps := 1; there(); sweeps++ {
		clock = clock.Add(6 * time.Second) // the claim has run out
		ctx, cancel := context.WithCancel(t.Context())
		cut.after(25, cancel) // a page of topics takes about ten round trips
		swept, err := store.Sweep(ctx, backend.SweepOptions{Limit: 10 * topics, Nodes: true})
		cancel()
		if err == nil && there() || sweeps > 10 {
			t.Fatalf("sweep %d: got %+v and error %v, want alice's leave after some sweeps", sweeps, swept, err)
		}
	}
}

// A node that has closed, or was killed, is not counted among those that share the store.
func TestNodesCounted(t *testing.T) {
	clock := time.Now()
	store := redisstore.New(storeclock.Client{UniversalClient: redistest.Start(t).Client(), Now: func() time.Time { return clock }}, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { store.Close() })
	renew := func(process string, term time.Duration) {
		if _, err := store.Poll(t.Context(), backend.Poll{Process: process, Term: term}); err != nil {
			t.Fatal(err)
		}
	}
	counts := func(want int) {
		t.Helper()
		if r, err := store.Poll(t.Context(), backend.Poll{}); err != nil || r.Nodes != want || r.Alive {
			t.Errorf("got %+v and error %v, want %d nodes", r, err, want)
		}
	}
	counts(0)
	renew("closes.p", 10*time.Second)
	renew("killed.p", 10*time.Second)
	counts(2)
	renew("closes.p", 0)
	counts(1)
	clock = clock.Add(10*time.Second - time.Millisecond)
	counts(1)
	clock = clock.Add(time.Millisecond)
	counts(0)
}

// A process that comes back while it is swept is told so: it goes on in another generation, and what hung on the first one ends.
func TestSweepOfNodeThatReturns(t *testing.T) {
	clock := time.Now()
	server := redistest.Start(t)
	client, now := server.Client(), func() time.Time { return clock }
	store := redisstore.New(storeclock.Client{UniversalClient: client, Now: now}, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { store.Close() })
	returns := redisstore.New(storeclock.Client{UniversalClient: server.Client(), Now: now}, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { returns.Close() })
	const users = 5000 // more than a round trip looks at
	batch := backend.Batch{Topic: presence.Site}
	for i := range users {
		batch.Ops = append(batch.Ops, joinBatch(presence.Site, presence.UserID(fmt.Sprint("u", i)), presence.Holder(fmt.Sprint("a.p.", i))).Ops...)
	}
	if r := store.Apply(t.Context(), []backend.Batch{batch}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	if _, err := store.Poll(t.Context(), backend.Poll{Process: "a.p", Term: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(11 * time.Second)
	again := joinBatch(presence.Site, "late", "a.p.late")
	again.Ops[0].Gen = 1
	client.AddHook(&afterFirstLeaves{then: func() {
		for range 2 { // the first answer may be lost
			if r, err := returns.Poll(context.Background(), backend.Poll{Process: "a.p", Term: 10 * time.Second}); r.Alive || err != nil {
				t.Errorf("a renewal during the sweep said %+v, %v, want that it is not alive", r, err)
			}
		}
		if r, err := returns.Poll(context.Background(), backend.Poll{Process: "a.p", Gen: 1, Term: 10 * time.Second, Before: time.Second}); !r.Alive || err != nil {
			t.Errorf("the next generation was told %+v, %v, want that it is alive", r, err)
		}
		returns.Apply(context.Background(), []backend.Batch{again})
	}})
	swept, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 100, Nodes: true})
	if err != nil || swept.Leases != users || swept.Leaves != users {
		t.Errorf("got %+v and error %v, want the end of all that hung on the process", swept, err)
	}
	if r, err := store.Snapshot(t.Context(), presence.Site); err != nil || len(r.Members) != 1 {
		t.Errorf("got %d users and error %v, want the one of the other generation", len(r.Members), err)
	}
}

// afterFirstLeaves does something right after the first command about the log of a topic.
type afterFirstLeaves struct {
	cutter
	once sync.Once
	then func()
}

func (c *afterFirstLeaves) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (c *afterFirstLeaves) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			for _, arg := range cmd.Args() {
				if strings.HasSuffix(fmt.Sprint(arg), "log") && cmd.Err() == nil {
					c.once.Do(c.then)
				}
			}
		}
		return err
	}
}

func joinBatch(topic presence.Topic, user presence.UserID, holder presence.Holder) backend.Batch {
	return backend.Batch{Topic: topic, Ops: []backend.Op{{Kind: backend.OpJoin, User: presence.User{ID: user}, Holder: holder, For: time.Hour}}}
}

// A cutter does something after a number of round trips.
type cutter struct {
	left atomic.Int64
	then func()
}

func (c *cutter) after(trips int64, then func()) {
	c.then = then
	c.left.Store(trips)
}

func (c *cutter) trip() {
	if c.left.Add(-1) == 0 {
		c.then()
	}
}

func (c *cutter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *cutter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer c.trip()
		return next(ctx, cmd)
	}
}

func (c *cutter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer c.trip()
		return next(ctx, cmds)
	}
}
