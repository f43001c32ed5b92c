package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// A request may name any topic. What holds nobody there makes no topic, since every topic in the index is swept by the
// whole fleet. What holds somebody who is not known makes one until that is over.
func TestMadeUpTopicsAreNotIndexed(t *testing.T) {
	server := redistest.Start(t)
	client, now := server.Client(), time.Now()
	store := redisstore.New(storeclock.Client{UniversalClient: client, Now: func() time.Time { return now }}, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { store.Close() })
	op := func(kind backend.OpKind, holder presence.Holder) backend.Op {
		return backend.Op{Kind: kind, User: presence.User{ID: "alice"}, Holder: holder, For: time.Minute}
	}
	drop := op(backend.OpRelease, "a.1")
	drop.For = 0
	do := func(topic presence.Topic, ops ...backend.Op) {
		t.Helper()
		for _, r := range store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: ops}}) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	wantsReal := func(which string, got []string) {
		t.Helper()
		if !slices.Equal(got, []string{"real"}) {
			t.Fatalf("after operations on made-up topics the index has %q %s, want the real topic alone", got, which)
		}
	}
	do("real", op(backend.OpJoin, "a.1"))
	for range 2 {
		for i := range 20 {
			for k, one := range []backend.Op{op(backend.OpHeartbeat, "a.1"), op(backend.OpSignOff, ""), op(backend.OpSignOut, ""), op(backend.OpUpdate, ""), drop} {
				do(presence.Topic(fmt.Sprint("evil:", i, ":", k)), one)
			}
		}
		wantsReal("among its topics", client.ZRange(t.Context(), "presence:{~index}:topics", 0, -1).Val())
		wantsReal("to trim", client.SMembers(t.Context(), "presence:{~index}:seen").Val())
		wantsReal("to sweep", client.ZRange(t.Context(), "presence:{~index}:due", 0, -1).Val())
	}
	do("evil:keep", op(backend.OpKeep, "a.1"))
	do("evil:grace", op(backend.OpRelease, "a.1"))
	if got := client.ZCard(t.Context(), "presence:{~index}:due").Val(); got != 3 {
		t.Errorf("got %d topics to sweep, want 3", got)
	}
	for range 12 {
		now = now.Add(20 * time.Second)
		do("real", op(backend.OpHeartbeat, "a.1"))
		noError(t, errorOf(store.Sweep(t.Context(), backend.SweepOptions{Limit: 1000})))
	}
	wantsReal("to sweep, when that is over,", client.ZRange(t.Context(), "presence:{~index}:due", 0, -1).Val())
	for _, key := range client.Keys(t.Context(), "presence:{evil*").Val() {
		if left := client.PTTL(t.Context(), key).Val(); !strings.HasSuffix(key, ":memory") || left <= 0 || left > 20*time.Second {
			t.Errorf("the key %s of a made-up topic lasts %v, want a memory that ends by itself", key, left)
		}
	}

	// They cost the real topics no notes either.
	notes := countNotes(client)
	for range 10 {
		do("evil", op(backend.OpHeartbeat, "a.1"))
		do("real", op(backend.OpHeartbeat, "a.1"))
	}
	if got := notes(); got > 0 {
		t.Errorf("got %d notes of the index, want none: the topic was noted a moment ago", got)
	}
}

// countNotes returns what counts the writes to the index since.
func countNotes(client *redis.Client) func() int {
	calls := func() (n int) {
		_, stats, _ := strings.Cut(client.Info(context.Background(), "commandstats").Val(), "cmdstat_sadd:")
		_, _ = fmt.Sscanf(stats, "calls=%d", &n)
		return n
	}
	before := calls()
	return func() int { return calls() - before }
}

// An index that was lost comes back with the heartbeats of those who are there, and
// with a release that leaves a grace.
func TestLostIndexComesBack(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	join := ops(backend.OpJoin, 0, 1, 0, time.Minute)
	for name, ops := range map[string][]backend.Op{
		"a heartbeat": ops(backend.OpHeartbeat, 0, 1, 0, time.Minute),
		"a release":   ops(backend.OpRelease, 0, 1, 0, time.Minute),
	} {
		apply(t, storetest.New(t, server), join...)
		client.Del(t.Context(), "presence:{~index}:due", "presence:{~index}:seen")
		apply(t, storetest.New(t, server), ops...)
		if n := client.ZCard(t.Context(), "presence:{~index}:due").Val(); n != 1 {
			t.Errorf("after %s by a node that had not noted the topic: got %d topics in the index, want 1", name, n)
		}
	}
}
