package handlers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// notSecret lets everybody see all topics but those of one kind.
func notSecret(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
	return t.Kind() != "secret"
}

func TestCountsOfManyTopics(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: notSecret}}, func(t *testing.T, s *site) {
		s.see("thread:1", "alice", "bob")
		s.see("thread:2", "alice")
		s.see("secret:1", "carol")
		s.tracker.SeenGuest("thread:2", "guest-0000000001")
		time.Sleep(time.Second)
		_, body := s.fetch(request{path: "counts?topic=thread:1&topic=thread:2&topic=thread:3&topic=secret:1&topic=secret:2&topic=thread:1"})
		want := `{"topics":{"thread:1":{"total":2,"guests":0},"thread:2":{"total":1,"guests":1},"thread:3":{"total":0,"guests":0}}}`
		if body != want {
			t.Errorf("got %s, want %s", body, want)
		}
	})
}

func TestCountsBadInput(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: notSecret}}, func(t *testing.T, s *site) {
		many := func(n int) string {
			var q strings.Builder
			for i := range n {
				fmt.Fprintf(&q, "&topic=thread:%d", i)
			}
			return "counts?" + q.String()[1:]
		}
		for path, want := range map[string]int{
			many(100): http.StatusOK, many(101): http.StatusBadRequest, "counts?topic=%00": http.StatusBadRequest,
			"counts?topic=" + strings.Repeat("a", 129): http.StatusBadRequest, "counts": http.StatusOK,
		} {
			if resp, body := s.fetch(request{path: path}); resp.StatusCode != want {
				t.Errorf("%.40s: got status %d and %.200s, want %d", path, resp.StatusCode, body, want)
			}
		}
	})
}

// While the store is out, the figures that are in memory are told.
func TestCountsWhileTheStoreIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: faults, handlers: handlers.Config{Authorize: notSecret}})
		s.see("thread:1", "alice", "bob")
		if _, err := s.tracker.View(t.Context(), "thread:1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.CallCounts)
		if resp, body := s.fetch(request{path: "counts?topic=thread:1&topic=thread:2"}); resp.StatusCode != http.StatusOK || body != `{"topics":{"thread:1":{"total":2,"guests":0}}}` {
			t.Errorf("got status %d and %s, want thread:1 alone", resp.StatusCode, body)
		}
		if resp, body := s.fetch(request{path: "counts?topic=thread:2"}); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("got status %d and %s, want 503 with Retry-After", resp.StatusCode, body)
		}
	})
}

// Topics that are not in memory cost one call of the store together, the others none, and
// no roster is loaded.
func TestCountsCostOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: faults, handlers: handlers.Config{Authorize: notSecret}})
		calls := func() (n uint64) {
			for name, c := range s.tracker.Stats().Calls {
				if name == "counts" || name == "snapshot" || name == "watch" {
					n += c.Latency.Count
				}
			}
			return n
		}
		time.Sleep(600 * time.Millisecond) // between two looks of the housekeeping
		before := calls()
		for range 3 {
			s.fetch(request{path: "counts?topic=thread:1&topic=thread:2&topic=thread:3"})
		}
		if got := calls() - before; got != 1 {
			t.Errorf("three requests for three topics: got %d calls of the store, want 1", got)
		}
	})
}
