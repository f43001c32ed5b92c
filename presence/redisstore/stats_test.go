package redisstore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// The breaker's state can be seen from outside, and what could not be read.
func TestStats(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	s := redisstore.New(client, redisstore.Config{Timeout: patience, MaxFailures: 2})
	defer s.Close()
	if got := s.Stats(); got != (backend.StoreStats{}) {
		t.Errorf("a new store: got %+v, want nothing", got)
	}
	if _, err := s.Watch(t.Context(), "a", backend.Watcher{Diff: func(backend.Diff) {}}); err != nil {
		t.Fatal(err)
	}
	channels := client.PubSubChannels(t.Context(), "presence:{a}:diffs:*").Val()
	if len(channels) != 1 {
		t.Fatalf("got channels %q, want one", channels)
	}
	noError(t, client.Publish(t.Context(), channels[0], "hello \x00").Err())
	for deadline := time.Now().Add(patience); s.Stats().Invalid != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v after a message that is none, want one invalid", s.Stats())
		}
	}
	server.Kill()
	for range 5 {
		_, _ = s.Counts(t.Context(), "a")
	}
	if got := s.Stats(); !got.BreakerOpen || got.Broken != 1 || got.Refused == 0 {
		t.Errorf("after five calls of a dead server: got %+v, want an open breaker that refused some", got)
	}
}

// A store reports when a call last failed because the server was out.
func TestLastOut(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: need.FreeAddr(t), MaxRetries: -1})
	defer client.Close()
	store := redisstore.New(client, redisstore.Config{})
	defer store.Close()
	if got := store.Stats().LastOut; !got.IsZero() {
		t.Errorf("before any call: got %v, want zero", got)
	}
	began := time.Now()
	if _, err := store.Statuses(t.Context(), "alice"); !errors.Is(err, presence.ErrStoreOut) {
		t.Fatalf("got %v, want ErrStoreOut", err)
	}
	if got := store.Stats().LastOut; got.Before(began) || got.After(time.Now()) {
		t.Errorf("got %v, want the time of the call at %v", got, began)
	}
}

// A sent is the commands that a client was given, as its hook sees them.
type sent struct{ atomic.Uint64 }

func (s *sent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.Add(1)
		return next(ctx, cmd)
	}
}

func (s *sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		s.Add(uint64(len(cmds)))
		return next(ctx, cmds)
	}
}

// Every command of every call is counted, a script as one.
func TestStatsOfCommands(t *testing.T) {
	t.Parallel()
	client, sent := redistest.Start(t).Client(), new(sent)
	client.AddHook(sent)
	s := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer s.Close()
	client.Ping(t.Context()) // a connection begins with commands of its own
	sent.Store(0)
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"apply", func() error {
			apply(t, s, backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "alice"}, Holder: "a.1", For: time.Minute})
			return nil
		}},
		{"statuses", func() error { return errorOf(s.Statuses(t.Context(), "alice")) }},
		{"counts", func() error { return errorOf(s.Counts(t.Context(), presence.Site)) }},
		{"snapshot", func() error { return errorOf(s.Snapshot(t.Context(), presence.Site)) }},
		{"log", func() error { return errorOf(s.Log(t.Context(), presence.Site, backend.Origin)) }},
		{"sightings", func() error { return errorOf(s.Sightings(t.Context(), presence.Site, "alice")) }},
		{"sweep", func() error { return errorOf(s.Sweep(t.Context(), backend.SweepOptions{Limit: 100})) }},
		{"age", func() error { return errorOf(s.Age(t.Context(), time.Minute)) }},
		{"trim", func() error { return errorOf(s.Trim(t.Context(), time.Hour, 100)) }},
		{"publish", func() error { return s.Publish(t.Context(), backend.LeaveNotice("alice", "a.1")) }},
		{"send", func() error {
			b := backend.Broadcast{Topic: "a", Data: []byte("!1")}
			return s.Send(t.Context(), b, b)
		}},
		{"secret", func() error { return errorOf(s.Secret(t.Context(), []byte("0123456789abcdef"))) }},
		{"hear", func() error { return s.Hear(t.Context()) }},
	} {
		before := s.Stats().Commands
		if err := call.do(); err != nil && !errors.Is(err, presence.ErrGap) {
			t.Errorf("%s: %v", call.name, err)
		}
		got := s.Stats().Commands
		if want := sent.Load(); got != want || got == before && call.name != "hear" { // nobody listens
			t.Errorf("%s: got %d commands in all, want %d", call.name, got, want)
		}
	}
	before := s.Stats().Commands
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if got := s.Stats().Commands - before; got < 2 {
		t.Errorf("check: got %d commands, want 2 or more", got) // its trial has a store of its own
	}
}

func errorOf[T any](_ T, err error) error { return err }

// The index's size is what the server last said, after topics came and went.
func TestStatsOfTopics(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	s := redisstore.New(storeclock.Client{UniversalClient: redistest.Start(t).Client(), Now: func() time.Time { return clock }}, redisstore.Config{Timeout: patience})
	defer s.Close()
	want := func(when string, topics int) {
		t.Helper()
		if got := s.Stats().Topics; got != topics {
			t.Errorf("%s: got %d topics, want %d", when, got, topics)
		}
	}
	want("nothing is known", 0)
	for i, topic := range []presence.Topic{"a", "b", "c"} {
		join := backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "alice"}, Holder: "a.1", For: time.Minute}
		if i == 2 {
			join.For = time.Hour
		}
		if r := s.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{join}}}); r[0].Err != nil {
			t.Fatal(r[0].Err)
		}
		want("users joined", i+1)
	}
	guest := backend.Op{Kind: backend.OpGuest, Guest: "g", For: time.Minute}
	if r := s.Apply(t.Context(), []backend.Batch{{Topic: "d", Ops: []backend.Op{guest}}}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	want("a guest came, who has no lease", 4)
	for range 200 { // a topic leaves the index two minutes after its last lease
		clock = clock.Add(2 * time.Second)
		if _, err := s.Sweep(t.Context(), backend.SweepOptions{Limit: 100}); err != nil {
			t.Fatal(err)
		}
	}
	want("two are empty, one has a lease and one a guest", 2)
}
