package handlers_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
)

// A client gets a requested state of a topic at most once a second. Further requests
// within that second are answered by one state.
func TestSnapshotRate(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws?topic=site&topic=thread:1&observe=1"})
		c.started(2)
		events := c.feed()
		for range 30 { // tenths of a second
			c.say(`{"type":"snapshot","topic":"site"}`)
			time.Sleep(100 * time.Millisecond)
		}
		c.say(`{"type":"snapshot","topic":"thread:1"}`)
		time.Sleep(10 * time.Second)
		n := map[string]int{}
		for len(events) > 0 {
			e := <-events
			n[e.typ+" "+e.data.Topic]++
		}
		if n["state site"] != 4 || n["state thread:1"] != 1 || len(n) != 2 {
			t.Errorf("got %v, want 4 states of site for 3 s of requests, and 1 of thread:1", n)
		}
		if got := s.handler.Stats().Snapshots; got != 26 {
			t.Errorf("got %d requests answered together with another, want 26", got)
		}
		c.say(`{"type":"snapshot","topic":"site"}`)
		c.say(`{"type":"snapshot","topic":"site"}`)
		c.say(`{"type":"unsubscribe","topic":"site"}`)
		time.Sleep(10 * time.Second)
		if got := len(events); got > 1 {
			t.Errorf("got %d states of a topic that was left, want one at most", got)
		}
	})
}
