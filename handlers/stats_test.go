package handlers_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
)

// Connections are counted while they are open.
func TestStatsOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		want := func(want handlers.Connections) {
			t.Helper()
			if got := s.handler.Stats().Connections; got != want {
				t.Errorf("got %+v open, want %+v", got, want)
			}
		}
		want(handlers.Connections{})
		events, socket := s.listen(request{path: "events"}).started(1), s.talk(request{path: "ws"})
		socket.started(1)
		ctx, cancel := context.WithCancel(t.Context())
		poll, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://forum.test/presence/poll?cursor="+events.last, nil)
		if err != nil {
			t.Fatal(err)
		}
		go s.client.Do(poll)
		time.Sleep(time.Second)
		want(handlers.Connections{SSE: 1, WebSocket: 1, Poll: 1})
		cancel()
		events.close()
		socket.close()
		time.Sleep(2 * time.Second)
		want(handlers.Connections{})
	})
}

// Each event that was sent counts, with its bytes, on every transport.
func TestStatsOfEvents(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		l := s.follow(over, "observe=1", "").started(1)
		synctest.Wait() // what was read is counted a moment later
		before := s.handler.Stats()
		s.see("site", "bob")
		l.want("diff")
		synctest.Wait()
		after := s.handler.Stats()
		if n := after.Events - before.Events; n < 1 || n > 2 { // recent follows in a heartbeat
			t.Errorf("got %d events for a join, want a diff, and perhaps a heartbeat", n)
		}
		if n := after.Bytes - before.Bytes; n < 100 || n > 1000 {
			t.Errorf("got %d bytes for a join, want some hundred", n)
		}
	})
}

// A client that does not read counts as behind, and then as cut.
func TestStatsOfTheSlow(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		s.follow(over, "", "alice").started(1) // and reads no more
		s.see("site", "carol")
		if got := s.handler.Stats(); got.Behind != 1 || got.SlowCut != 0 {
			t.Errorf("got %d behind and %d cut, want 1 and 0", got.Behind, got.SlowCut)
		}
		time.Sleep(12 * time.Second)
		if got := s.handler.Stats(); got.Behind != 0 || got.SlowCut != 1 {
			t.Errorf("after the deadline: got %d behind and %d cut, want 0 and 1", got.Behind, got.SlowCut)
		}
	})
}

// Requests over a limit are counted.
func TestStatsOfTheLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{MaxConnectionsPerAddress: 1}})
		s.listen(request{path: "events"}).started(1)
		s.wantLimited(request{path: "events"})
		c := s.talk(request{path: "ws", user: "alice"})
		for range 21 {
			c.say(`{"type":"heartbeat"}`)
		}
		c.wantClosed(1008)
		if got := s.handler.Stats().Limited; got != 2 {
			t.Errorf("got %d limited, want 2: one request, one client's messages", got)
		}
	})
}
