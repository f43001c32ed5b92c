package redisstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// The breaker's state can be seen from outside, and what could not be read.
func TestStats(t *testing.T) {
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
