package redisstore_test

import (
	"context"
	"fmt"
	"slices"
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

const guestPeriod = time.Hour

// guestOps are operations on guests from one number to another, with ids as long as those
// of browsers.
func guestOps(kind backend.OpKind, from, to int) (ops []backend.Op) {
	for i := from; i < to; i++ {
		ops = append(ops, backend.Op{Kind: kind, Guest: fmt.Sprintf("browser-%024d", i), For: guestPeriod})
	}
	return ops
}

// A list of guests that is not complete is not used: neither for the number, nor to make the
// sketches again where a guest is forgotten. It is complete again after two turns.
func TestListOfGuestsIsNotComplete(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(store *redisstore.Store, client *redis.Client, age func())
		want   int // without the guests who come then
	}{
		"many in the period before": {func(store *redisstore.Store, _ *redis.Client, age func()) {
			apply(t, store, guestOps(backend.OpGuest, 1000, 1600)...)
			age()
		}, 600},
		"the list was deleted": {func(store *redisstore.Store, client *redis.Client, _ func()) {
			apply(t, store, guestOps(backend.OpGuest, 1000, 1100)...)
			client.Del(t.Context(), "presence:{site}:listed")
		}, 100},
		"a sketch was deleted": {func(store *redisstore.Store, client *redis.Client, age func()) {
			apply(t, store, guestOps(backend.OpGuest, 1000, 1100)...)
			age()
			client.Del(t.Context(), "presence:{site}:before")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.Start(t).Client()
			clock := time.Now()
			store := redisstore.New(storeclock.Client{UniversalClient: client, Now: func() time.Time { return clock }}, redisstore.Config{Timeout: patience})
			defer store.Close()
			age := func() {
				t.Helper()
				clock = clock.Add(guestPeriod + time.Second)
				if turned, err := store.Age(t.Context(), guestPeriod); err != nil || turned != 1 {
					t.Fatalf("Age: got %d, %v, want one turn", turned, err)
				}
			}
			wants := func(when string, want int) {
				t.Helper()
				counts, err := store.Counts(t.Context(), presence.Site)
				noError(t, err)
				if got := counts[0].Guests; max(got-want, want-got) > want*3/100 { // a sketch may be off
					t.Errorf("%s: got %d guests, want %d", when, got, want)
				}
			}
			tt.before(store, client, age)
			wants("before", tt.want)
			apply(t, store, guestOps(backend.OpGuest, 0, 10)...)
			wants("guests come", tt.want+10)
			apply(t, store, guestOps(backend.OpForgetGuest, 0, 5)...)
			wants("guests sign in", tt.want+5)
			age()
			apply(t, store, guestOps(backend.OpGuest, 10, 20)...)
			age()
			wants("the sets turned twice", 10)
			apply(t, store, guestOps(backend.OpForgetGuest, 10, 15)...)
			wants("guests sign in again", 5)
		})
	}
}

// A topic's list of guests is bounded, however many come, and goes with the topic.
func TestListOfGuestsIsBounded(t *testing.T) {
	server := redistest.Start(t)
	client, store := server.Client(), storetest.New(t, server)
	apply(t, store, guestOps(backend.OpGuest, 0, backend.ExactGuests)...)
	few := client.MemoryUsage(t.Context(), "presence:{site}:listed", 0).Val()
	apply(t, store, guestOps(backend.OpGuest, 0, 5000)...)
	if n := client.ZCard(t.Context(), "presence:{site}:listed").Val(); n > backend.ExactGuests+1 {
		t.Errorf("got %d guests listed, want at most one more than %d", n, backend.ExactGuests)
	}
	if most := client.MemoryUsage(t.Context(), "presence:{site}:listed", 0).Val(); few > 90<<10 || most > 1<<10 {
		t.Errorf("the list takes %d bytes, and %d among many; want 90 KiB at most, and 1 KiB", few, most)
	}
	if ttl := client.PTTL(t.Context(), "presence:{site}:listed").Val(); ttl <= 0 || ttl > 4*guestPeriod {
		t.Errorf("without a cron the list stays for %v, want four periods", ttl)
	}
	apply(t, store, guestOps(backend.OpForgetGuest, 0, 5000)...)
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
	apply(t, store, guestOps(backend.OpGuest, 0, 10)...)
	apply(t, store, guestOps(backend.OpForgetGuest, 0, 5)...)
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

// Rule 10: to forget a guest among many takes the server most of a millisecond, so the
// guests of two topics at most are forgotten in one round trip, all those of a topic in one
// script.
func TestForgettingIsBounded(t *testing.T) {
	client, hook := redistest.Start(t).Client(), &forgetting{}
	client.AddHook(hook)
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	var come, leave []backend.Batch
	for i := range 10 {
		topic := presence.Topic(fmt.Sprint("thread:", i))
		come = append(come, backend.Batch{Topic: topic, Ops: guestOps(backend.OpGuest, 0, 200)})
		leave = append(leave, backend.Batch{Topic: topic, Ops: guestOps(backend.OpForgetGuest, 0, 10)})
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
	for _, n := range []int{20, backend.ExactGuests, 5000} {
		m := newMeter(b)
		all := guestOps(backend.OpGuest, 0, n)
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
			m.apply(guestOps(backend.OpForgetGuest, 0, 1)...)
			m.apply(guestOps(backend.OpGuest, 0, 1)...)
		})
		report("figures", 1, func() {
			if _, err := m.store.Counts(b.Context(), presence.Site); err != nil {
				b.Fatal(err)
			}
		})
	}
}
