package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

const guestPeriod = time.Hour

// guestOps are operations on guests from one number to another, with ids as long as those
// of browsers.
func guestOps(kind presence.OpKind, from, to int) (ops []presence.Op) {
	for i := from; i < to; i++ {
		ops = append(ops, presence.Op{Kind: kind, Guest: fmt.Sprintf("browser-%024d", i), For: guestPeriod})
	}
	return ops
}

// olderNode is what a node of a version before the list of guests does with a topic: it
// counts guests in the sketches alone, and turns these alone.
type olderNode struct {
	*testing.T
	client *redis.Client
	clock  *atomic.Int64 // the server's, Unix ms
}

func (o olderNode) key(name string) string { return "presence:{site}:" + name }

func (o olderNode) counts(from, to int) {
	o.Helper()
	var ids []any
	for _, op := range guestOps(presence.OpGuest, from, to) {
		ids = append(ids, op.Guest)
	}
	if err := o.client.PFAdd(o.Context(), o.key("guests"), ids...).Err(); err != nil {
		o.Fatal(err)
	}
	o.client.SetNX(o.Context(), o.key("aged"), o.clock.Load(), 4*guestPeriod)
}

func (o olderNode) turns() {
	o.Helper()
	o.client.Del(o.Context(), o.key("before"))
	if err := o.client.Rename(o.Context(), o.key("guests"), o.key("before")).Err(); err != nil {
		o.Fatal(err)
	}
	if err := o.client.Set(o.Context(), o.key("aged"), o.clock.Load(), 4*guestPeriod).Err(); err != nil {
		o.Fatal(err)
	}
}

// wants checks the number of guests that nodes of both versions read, give or take 3 %.
func (o olderNode) wants(store *redisstore.Store, when string, want, wantOlder int) {
	o.Helper()
	counts, err := store.Counts(o.Context(), presence.Site)
	if err != nil {
		o.Fatal(err)
	}
	older, err := o.client.PFCount(o.Context(), o.key("guests"), o.key("before")).Result()
	if err != nil {
		o.Fatal(err)
	}
	near := func(got, want int) bool { return max(got-want, want-got) <= want*3/100 }
	if !near(counts[0].Guests, want) || !near(int(older), wantOlder) {
		o.Errorf("%s: got %d guests, and %d at an older node; want %d, %d", when, counts[0].Guests, older, want, wantOlder)
	}
}

// While a fleet is updated, nodes that know nothing of the list of guests count guests
// too, and turn the sets. The figures of all nodes stay sane, and once the older nodes are
// gone and the sets have turned, the number is exact.
func TestGuestsBesideOlderNodes(t *testing.T) {
	server := redistest.Start(t)
	older := olderNode{t, server.Client(), new(atomic.Int64)}
	older.clock.Store(time.Now().UnixMilli())
	store := redisstore.New(server.Client(), redisstore.Config{Clock: func() time.Time { return time.UnixMilli(older.clock.Load()) }, Timeout: patience})
	defer store.Close()
	passes := func() { older.clock.Add((guestPeriod + time.Second).Milliseconds()) }
	age := func() {
		t.Helper()
		passes()
		if turned, err := store.Age(t.Context(), guestPeriod); err != nil || turned != 1 {
			t.Fatalf("Age: got %d, %v, want one turn", turned, err)
		}
	}

	older.counts(0, 100)
	older.wants(store, "before the update", 100, 100)
	apply(t, store, guestOps(presence.OpGuest, 0, 10)...)
	older.wants(store, "the first node is updated", 100, 100)
	apply(t, store, guestOps(presence.OpForgetGuest, 0, 1)...)
	older.wants(store, "a guest signs in among guests of older nodes", 100, 100)
	apply(t, store, guestOps(presence.OpGuest, 100, 150)...)
	older.wants(store, "guests at both", 150, 150)
	passes()
	older.turns()
	older.wants(store, "an older node turned", 150, 150)
	apply(t, store, guestOps(presence.OpGuest, 140, 160)...)
	older.wants(store, "guests come", 160, 160)
	passes()
	older.turns()
	older.wants(store, "an older node turned again", 20, 20)
	apply(t, store, guestOps(presence.OpGuest, 150, 170)...)
	older.wants(store, "guests come again", 30, 30)

	// The older nodes are gone.
	age()
	apply(t, store, guestOps(presence.OpGuest, 160, 180)...)
	age()
	older.wants(store, "all are updated, and the sets turned", 20, 20)
	apply(t, store, guestOps(presence.OpForgetGuest, 160, 175)...)
	older.wants(store, "guests sign in", 5, 5)
}

// A topic's list of guests is bounded, however many come, and goes with the topic.
func TestListOfGuestsIsBounded(t *testing.T) {
	server := redistest.Start(t)
	client, store := server.Client(), storetest.New(t, server)
	apply(t, store, guestOps(presence.OpGuest, 0, presence.ExactGuests)...)
	few := client.MemoryUsage(t.Context(), "presence:{site}:listed", 0).Val()
	apply(t, store, guestOps(presence.OpGuest, 0, 5000)...)
	if n := client.ZCard(t.Context(), "presence:{site}:listed").Val(); n > presence.ExactGuests+1 {
		t.Errorf("got %d guests listed, want at most one more than %d", n, presence.ExactGuests)
	}
	if most := client.MemoryUsage(t.Context(), "presence:{site}:listed", 0).Val(); few > 90<<10 || most > 1<<10 {
		t.Errorf("the list takes %d bytes, and %d among many; want 90 KiB at most, and 1 KiB", few, most)
	}
	if ttl := client.PTTL(t.Context(), "presence:{site}:listed").Val(); ttl <= 0 || ttl > 4*guestPeriod {
		t.Errorf("without a cron the list stays for %v, want four periods", ttl)
	}
	apply(t, store, guestOps(presence.OpForgetGuest, 0, 5000)...)
	time.Sleep(5 * time.Millisecond)
	for range 2 {
		if _, err := store.Age(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1200 * time.Millisecond) // the topic is looked at once a second
	}
	if left := client.Keys(t.Context(), "presence:{site}:*").Val(); len(left) > 0 {
		t.Errorf("got keys %q left of guests who went, want none", left)
	}
}

// A guest's ids leave the sketches too, so that their time to live does not end.
func TestForgettingKeepsTheTimeToLive(t *testing.T) {
	server := redistest.Start(t)
	client, store := server.Client(), storetest.New(t, server)
	apply(t, store, guestOps(presence.OpGuest, 0, 10)...)
	apply(t, store, guestOps(presence.OpForgetGuest, 0, 5)...)
	if ttl := client.PTTL(t.Context(), "presence:{site}:guests").Val(); ttl <= 0 || ttl > 4*guestPeriod {
		t.Errorf("without a cron the sketch stays for %v, want four periods", ttl)
	}
}

// forgetting counts the scripts that forget guests in each round trip, and keeps the most.
type forgetting struct{ most int }

func (f *forgetting) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (f *forgetting) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (f *forgetting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		n := 0
		for _, c := range commands {
			if slices.Contains(c.Args(), any("forget")) {
				n++
			}
		}
		f.most = max(f.most, n)
		return next(ctx, commands)
	}
}

// Rule 9: to forget a guest among many takes the server most of a millisecond, so the
// guests of two topics at most are forgotten in one round trip, all those of a topic in one
// script.
func TestForgettingIsBounded(t *testing.T) {
	client, hook := redistest.Start(t).Client(), &forgetting{}
	client.AddHook(hook)
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	var come, leave []presence.Batch
	for i := range 10 {
		topic := presence.Topic(fmt.Sprint("thread:", i))
		come = append(come, presence.Batch{Topic: topic, Ops: guestOps(presence.OpGuest, 0, 200)})
		leave = append(leave, presence.Batch{Topic: topic, Ops: guestOps(presence.OpForgetGuest, 0, 10)})
	}
	for i, r := range append(store.Apply(t.Context(), come), store.Apply(t.Context(), leave)...) {
		if r.Err != nil {
			t.Fatalf("batch %d: %v", i, r.Err)
		}
	}
	if hook.most != 2 {
		t.Errorf("guests of %d topics were forgotten in one round trip, want two", hook.most)
	}
	for i := range 10 {
		counts, err := store.Counts(t.Context(), presence.Topic(fmt.Sprint("thread:", i)))
		if err != nil || counts[0].Guests != 190 {
			t.Errorf("got %+v, %v, want 190 guests left", counts, err)
		}
	}
}

// BenchmarkGuests says what guests cost Redis: to count one of a batch, to forget one of
// many who are listed, and to read the figures of a topic.
func BenchmarkGuests(b *testing.B) {
	for _, n := range []int{20, presence.ExactGuests, 5000} {
		m := newMeter(b)
		all := guestOps(presence.OpGuest, 0, n)
		m.apply(all...)
		report := func(name string, per int, work func()) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				used, rounds := m.cpu(), 0
				for b.Loop() {
					work()
					rounds++
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64((m.cpu()-used).Nanoseconds())/1e3/float64(rounds*per), "redis-µs")
			})
		}
		report("count", n, func() { m.apply(all...) })
		report("forget", 1, func() {
			m.apply(guestOps(presence.OpForgetGuest, 0, 1)...)
			m.apply(guestOps(presence.OpGuest, 0, 1)...)
		})
		report("figures", 1, func() {
			if _, err := m.store.Counts(b.Context(), presence.Site); err != nil {
				b.Fatal(err)
			}
		})
	}
}
