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
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// One key of the erasures that has another type makes erasures fail, and nothing else.
// A key of another type ends what it is about, and nothing else.
func TestPollWithAKeyOfAnotherType(t *testing.T) {
	for _, key := range []string{"erasures:due", "changed"} {
		t.Run(key, func(t *testing.T) {
			server := redistest.Start(t)
			client := server.Client()
			noError(t, client.Set(t.Context(), "presence:{~index}:"+key, "x", 0).Err())
			noError(t, client.Set(t.Context(), "presence:{~erasures}:due", "x", 0).Err()) // its name before
			tracker, err := track.New(storetest.New(t, server), track.Config{Node: "a"})
			noError(t, err)
			defer tracker.Close(context.Background())
			c, err := tracker.Connect(t.Context(), track.ConnectOptions{Topics: []presence.Topic{"x"}, Observe: true})
			noError(t, err)
			defer c.Close()
			time.Sleep(4 * time.Second)
			if view, err := tracker.View(t.Context(), "x"); err != nil || view.Stale || tracker.StoreOut() {
				t.Errorf("stale %v, out %v, %v", view.Stale, tracker.StoreOut(), err)
			}
		})
	}
}

// The lease of the process is renewed while a listener is busy.
// A listener that is busy delays no poll.
func TestPollBesideABusyListener(t *testing.T) {
	server := redistest.Start(t)
	store := storetest.New(t, server)
	busy := make(chan struct{}, 1)
	stop, err := store.Listen(t.Context(), func(backend.Notice) { busy <- struct{}{}; time.Sleep(3 * time.Second) })
	noError(t, err)
	defer stop()
	noError(t, store.Publish(t.Context(), backend.SignOutNotice("alice")))
	<-busy
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	_, err = store.Poll(ctx, backend.Poll{Process: "a", Term: 3 * time.Second})
	if took := time.Since(began); err != nil || took > 1200*time.Millisecond {
		t.Errorf("a poll with one second took %v: %v", took, err)
	}
}

type slowWire struct{ d time.Duration }

func (w slowWire) DialHook(next redis.DialHook) redis.DialHook { return next }
func (w slowWire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error { time.Sleep(w.d); return next(ctx, c) }
}
func (w slowWire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, c []redis.Cmder) error { time.Sleep(w.d); return next(ctx, c) }
}

// A node that begins while the log has many notices renews its lease at once, and the store is not out.
// A node that has many notices to hear keeps its lease.
func TestPollsAmongManyNotices(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	first := redisstore.New(server.Client(), redisstore.Config{})
	noError(t, first.Publish(t.Context(), backend.SignOutNotice("alice")))
	noError(t, first.Close())
	log := "presence:{~index}:notices"
	entries, err := client.XRange(t.Context(), log, "-", "+").Result()
	noError(t, err)
	for range 150 {
		p := client.Pipeline()
		for range 1000 {
			p.XAdd(t.Context(), &redis.XAddArgs{Stream: log, Values: entries[0].Values})
		}
		_, err := p.Exec(t.Context())
		noError(t, err)
	}
	slow := server.Client()
	slow.AddHook(slowWire{10 * time.Millisecond})
	store := redisstore.New(slow, redisstore.Config{})
	defer store.Close()
	tracker, err := track.New(store, track.Config{Node: "a", NodeTTL: 3 * time.Second})
	noError(t, err)
	defer tracker.Close(context.Background())
	began := time.Now()
	for time.Since(began) < 8*time.Second {
		time.Sleep(20 * time.Millisecond)
		nodes, err := client.ZRangeWithScores(t.Context(), "presence:{~index}:nodes", 0, -1).Result()
		noError(t, err)
		if len(nodes) == 0 || int64(nodes[0].Score) < time.Now().UnixMilli() {
			t.Fatalf("the node's lease has lapsed %v after it began: %v", time.Since(began), nodes)
		}
	}
}
