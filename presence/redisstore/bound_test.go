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

// Rule 10: the server executes what comes in one round trip as it does one long
// script, so that is bounded too, over all topics.
func TestRoundTripsAreBounded(t *testing.T) {
	const topics, users = 40, 100
	client := redistest.Start(t).Client()
	trips := &trips{}
	client.AddHook(trips)
	var clock atomic.Int64 // ms
	clock.Store(time.Now().UnixMilli())
	store := redisstore.New(storeclock.Client{UniversalClient: client, Now: func() time.Time { return time.UnixMilli(clock.Load()) }}, redisstore.Config{Timeout: patience})
	defer store.Close()

	var batches []backend.Batch
	for i := range topics {
		batches = append(batches, backend.Batch{Topic: presence.Topic(fmt.Sprint("thread:", i)), Ops: ops(backend.OpJoin, 0, users, 0, time.Second)})
	}
	for _, r := range store.Apply(t.Context(), batches) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if most := trips.heaviest(); most != 200 {
		t.Errorf("one round trip had %d joins, want two topics' 200 of the 250 that a script takes", most)
	}

	clock.Add(time.Minute.Milliseconds())
	left := 0
	for range 20 { // a sweep ends early where the machine is so busy that a look is old by then
		swept, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 2 * topics * users})
		if err != nil {
			t.Fatal(err)
		}
		if left += swept.Leaves; left == topics*users {
			break
		}
		clock.Add(time.Second.Milliseconds())
	}
	if left != topics*users {
		t.Fatalf("got %d leaves, want all", left)
	}
	if most := trips.heaviest(); most > 500 || most < 300 {
		t.Errorf("one round trip removed %d leases, want some topics' of the 500 that a script takes", most)
	}

	clock.Add(time.Hour.Milliseconds())
	forgotten, err := store.Trim(t.Context(), time.Minute, users)
	if err != nil || forgotten != topics*users {
		t.Fatalf("a trim: got %d, %v, want all forgotten", forgotten, err)
	}
	if most := trips.heaviest(); most > 1000 || most < 900 {
		t.Errorf("one round trip forgot %d users, want about the 1000 that a script takes", most)
	}
}

// trips weighs each round trip: users who are named, and what the scripts say
// first, which is how much they removed.
type trips struct {
	mu   sync.Mutex
	most int
}

func (t *trips) heaviest() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := t.most
	t.most = 0
	return most
}

func (t *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (t *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (t *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		weight := 0
		for _, c := range commands {
			for _, arg := range c.Args() {
				if text, ok := arg.(string); ok && strings.HasPrefix(text, "user-") {
					weight++
				}
			}
			if answer, ok := c.(*redis.Cmd); ok {
				if figures, err := answer.Int64Slice(); err == nil && len(figures) > 2 {
					weight += int(figures[0])
				}
			}
		}
		t.mu.Lock()
		t.most = max(t.most, weight)
		t.mu.Unlock()
		return err
	}
}
