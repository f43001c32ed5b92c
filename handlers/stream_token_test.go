package handlers_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// After a change of its topics a connection with beat=1 gets a new token, so that a beat at
// another node renews exactly the present topics.
func TestTokenAfterSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		s := newSite(t, setup{store: store, handlers: handlers.Config{Authorize: threads}})
		other := newSite(t, setup{store: store})
		c := s.talk(request{path: "ws?beat=1", user: "alice"})
		first := c.want("welcome").data.Connection
		c.want("state")
		c.say(`{"type":"subscribe","topic":"thread:1"}`)
		second := c.want("token").data.Connection
		c.want("state")
		c.drain()
		if second == first || second == "" {
			t.Fatalf("got token %q after %q, want another", second, first)
		}
		for range 20 {
			time.Sleep(15 * time.Second)
			if resp, body := other.fetch(says("beat", "alice", second)); resp.StatusCode != http.StatusNoContent {
				t.Fatalf("a beat elsewhere: got %d (%s), want 204", resp.StatusCode, body)
			}
			s.sweep()
		}
		if got := s.names("site") + s.names("thread:1"); got != "alicealice" {
			t.Errorf("got %q online after five minutes of beats elsewhere, want alice in both topics", got)
		}
	})
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws?beat=1&topic=thread:1&topic=site", user: "alice"})
		first := c.want("welcome").data.Connection
		c.want("state")
		c.want("state")
		c.say(`{"type":"unsubscribe","topic":"thread:1"}`)
		if got := c.want("token").data.Connection; got == first || got == "" {
			t.Errorf("got token %q after %q, want another", got, first)
		}
		for _, query := range []string{"ws", "ws?observe=1&beat=1"} { // such pages have no use for it
			c := s.talk(request{path: query, user: "bob"})
			c.started(1)
			c.say(`{"type":"subscribe","topic":"thread:1"}`)
			c.want("state")
			c.close()
		}
	})
}
