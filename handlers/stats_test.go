package handlers_test

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// Connections are counted while they are open.
func TestStatsOfConnections(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
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
		noError(t, err)
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

// A change that was written counts once in the lag, on every transport.
func TestStatsOfScreenLag(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		l := s.follow(over, "observe=1", "").started(1)
		if n := s.tracker.Stats().ScreenLag.Count; n != 0 {
			t.Errorf("got %d of a state, want none", n)
		}
		s.tracker.Seen(presence.Site, presence.User{ID: "bob"}, presence.Device{})
		l.want("diff")
		synctest.Wait()
		if got := s.tracker.Stats().ScreenLag; got.Count != 1 || got.Sum != 0 {
			t.Errorf("got %d of %v, want one of no time", got.Count, time.Duration(got.Sum))
		}
	})
}

// A shard counts once for all streams that it writes to together.
func TestStatsOfScreenLagOverTCP(t *testing.T) {
	s := newTCPSite(t, setup{})
	const readers = 40
	for range readers {
		s.listen(request{path: "events?observe=1"}).started(1)
	}
	eventually(t, "the lag is counted", func() bool {
		s.tracker.Seen(presence.Site, presence.User{ID: presence.UserID(rand.Text())}, presence.Device{})
		return s.tracker.Stats().ScreenLag.Count > 0
	})
	got := s.tracker.Stats()
	if most := got.DiffsPublished * uint64(runtime.GOMAXPROCS(0)); got.ScreenLag.Count > most || got.ScreenLag.Sum <= 0 {
		t.Errorf("got %+v after %d changes for %d readers, want %d at most, one a shard", got.ScreenLag, got.DiffsPublished, readers, most)
	}
}

// A client that goes before it has read all that was written counts as a failed write.
func TestStatsOfFailedWrites(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		l := s.follow(over, "", "alice").started(1) // and reads no more
		s.see("site", "carol")
		l.close()
		time.Sleep(2 * time.Second)
		if got := s.handler.Stats(); got.Failed != 1 || got.SlowCut != 0 {
			t.Errorf("got %d failed and %d cut, want 1 and 0", got.Failed, got.SlowCut)
		}
	})
}

// The same of a stream that a shard drives.
func TestStatsOfFailedWritesOverTCP(t *testing.T) {
	for name, goes := range map[string]func(*net.TCPConn){
		"resets": func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"closes": func(c *net.TCPConn) { c.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTCPSite(t, setup{})
			p := s.peer(overSSE, request{path: "observe=1"})
			p.head(http.StatusOK)
			eventually(t, "the client is behind", func() bool {
				for range 100 {
					s.tracker.Seen(presence.Site, presence.User{ID: presence.UserID(rand.Text()), Name: strings.Repeat("n", 200)}, presence.Device{})
				}
				time.Sleep(50 * time.Millisecond) // what the kernels' buffers hold is no longer the server's
				return s.handler.Stats().Behind == 1
			})
			goes(p.conn)
			s.none()
			if got := s.handler.Stats(); got.Failed != 1 || got.SlowCut != 0 {
				t.Errorf("got %d failed and %d cut, want 1 and 0", got.Failed, got.SlowCut)
			}
		})
	}
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
	onSite(t, setup{handlers: handlers.Config{MaxConnectionsPerAddress: 1}}, func(t *testing.T, s *site) {
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
