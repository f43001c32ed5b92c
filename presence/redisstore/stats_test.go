package redisstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// The breaker's state can be seen from outside, and what could not be read.
func TestStats(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	s := redisstore.New(client, redisstore.Config{Timeout: patience, MaxFailures: 2})
	defer s.Close()
	if got := s.Stats(); got != (presence.StoreStats{}) {
		t.Errorf("a new store: got %+v, want nothing", got)
	}
	if _, err := s.Watch(t.Context(), "a", func(presence.Diff) {}); err != nil {
		t.Fatal(err)
	}
	channels := client.PubSubChannels(t.Context(), "presence:{a}:diffs:*").Val()
	if len(channels) != 1 {
		t.Fatalf("got channels %q, want one", channels)
	}
	if err := client.Publish(t.Context(), channels[0], "hello \x00").Err(); err != nil {
		t.Fatal(err)
	}
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
	client := redis.NewClient(&redis.Options{Addr: redistest.FreeAddr(t), MaxRetries: -1})
	defer client.Close()
	store := redisstore.New(client, redisstore.Config{})
	defer store.Close()
	if got := store.LastOut(); !got.IsZero() {
		t.Errorf("before any call: got %v, want zero", got)
	}
	began := time.Now()
	if _, err := store.Statuses(t.Context(), "alice"); !errors.Is(err, presence.ErrStoreOut) {
		t.Fatalf("got %v, want ErrStoreOut", err)
	}
	if got := store.LastOut(); got.Before(began) || got.After(time.Now()) {
		t.Errorf("got %v, want the time of the call at %v", got, began)
	}
}
