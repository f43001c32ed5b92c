package handlers_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// beatOf returns what a welcome says of beats; -1: nothing.
func beatOf(t *testing.T, l *listener) float64 {
	t.Helper()
	if beat := l.want("welcome").data.Beat; beat != nil {
		return *beat
	}
	return -1
}

// A page with beat=auto beats at most once in 20 s, and over a WebSocket never.
func TestBeatOfWelcome(t *testing.T) {
	http2 := new(http.Protocols)
	http2.SetUnencryptedHTTP2(true)
	for name, tt := range map[string]struct {
		ttl   time.Duration
		wrap  func(http.Handler) http.Handler
		http2 bool
		query string
		via   string // a proxy
		want  float64
	}{
		"SSE":                     {query: "events?beat=auto", want: 20},
		"proxied":                 {query: "events?beat=auto", via: "1.1 p", want: 20},
		"HTTP/2":                  {http2: true, query: "events?beat=auto", want: 20},
		"no hijacking":            {wrap: unhijackable, query: "events?beat=auto", want: 20},
		"WebSocket":               {query: "ws?beat=auto", want: 0},
		"proxied WebSocket":       {query: "ws?beat=auto", via: "1.1 p", want: 0},
		"short ttl":               {ttl: 9 * time.Second, query: "events?beat=auto", want: 4},
		"shorter":                 {ttl: 1800 * time.Millisecond, query: "events?beat=auto", want: 0.8},
		"short ttl, WebSocket":    {ttl: 900 * time.Millisecond, query: "ws?beat=auto", want: 0},
		"beat=1":                  {query: "events?beat=1", want: -1},
		"none":                    {query: "events", want: -1},
		"beats that were refused": {query: "events?beat=auto&nobeat=403", want: -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTCPSite(t, setup{presence: track.Config{TTL: tt.ttl}, wrap: tt.wrap, server: func(srv *http.Server) {
				if tt.http2 {
					srv.Protocols = http2
				}
			}})
			if tt.http2 {
				s.client.Transport.(*http.Transport).Protocols = http2
			}
			r := request{path: tt.query, user: "alice", header: map[string]string{"Via": tt.via}}
			var l *listener
			if tt.query[0] == 'w' {
				l = s.talk(r).listener
			} else {
				l = s.listen(r)
			}
			if got := beatOf(t, l); got != tt.want {
				t.Errorf("got beat %v, want %v", got, tt.want)
			}
			l.close()
		})
	}
	s := newTCPSite(t, setup{})
	resp, body := s.fetch(request{path: "events?beat=often"})
	wantProblem(t, resp, body, http.StatusBadRequest)
}

// answers answers pings, in a goroutine of its own, until vanish is called. It counts all pings.
func (c talker) answers() (pings *atomic.Int64, vanish func()) {
	pings = new(atomic.Int64)
	vanished := make(chan struct{})
	go func() {
		for {
			op, payload, err := c.socket.frame()
			if err != nil {
				return
			}
			if op == ws.OpPing {
				pings.Add(1)
				select {
				case <-vanished:
				default:
					c.raw(clientFrame(ws.OpPong, true, payload))
				}
			}
		}
	}()
	return pings, func() { close(vanished) }
}

// Without beats the page of an open stream with beat=auto is gone after the TTL.
func TestAutoWithoutBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		s.listen(request{path: "events?beat=auto", user: "alice"}).drain()
		time.Sleep(44 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "alice" {
			t.Errorf("before the TTL: got %q online, want alice", got)
		}
		time.Sleep(2 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "" {
			t.Errorf("without a beat for a TTL: got %q online, want nobody", got)
		}
	})
}

// A WebSocket with beat=auto is kept by the answers to pings, and one whose client stops
// answering is gone a TTL after its last word, without a grace, and not earlier. Who comes
// back before is not seen to leave.
func TestPongsProve(t *testing.T) {
	for _, back := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			s := newSite(t, setup{store: store})
			watch := s.listen(request{path: "events?observe=1"}).started(1)
			events := watch.feed()
			c := s.talk(request{path: "ws?beat=auto", user: "alice"})
			if got := beatOf(t, c.listener); got != 0 {
				t.Fatalf("got beat %v, want 0", got)
			}
			pings, vanish := c.answers()
			for range 20 {
				time.Sleep(15 * time.Second)
				s.sweep()
			}
			if got := s.names("site"); got != "alice" || pings.Load() < 15 || pings.Load() > 21 {
				t.Fatalf("after five minutes: got %q online and %d pings, want alice and one in 15 s", got, pings.Load())
			}
			vanish()
			gone := time.Now().Add(45 * time.Second)
			if back {
				time.Sleep(44 * time.Second)
				again := s.listen(request{path: "events", user: "alice"})
				again.drain()
				time.Sleep(time.Minute)
				s.sweep()
				if got := s.names("site"); got != "alice" {
					t.Errorf("who came back: got %q online, want alice", got)
				}
				again.close()
			} else {
				time.Sleep(time.Until(gone) - 16*time.Second)
				s.sweep()
				if got := s.names("site"); got != "alice" {
					t.Errorf("29 s after the last word at the earliest: got %q online, want alice", got)
				}
				time.Sleep(17 * time.Second)
				s.sweep()
				if got := s.names("site"); got != "" {
					t.Errorf("46 s after the last word: got %q online, want nobody", got)
				}
			}
			joins, leaves := 0, 0
			for len(events) > 0 {
				e := <-events
				if _, ok := e.data.Joins["alice"]; ok {
					joins++
				}
				if _, ok := e.data.Leaves["alice"]; ok {
					leaves++
				}
			}
			if want := map[bool]int{false: 1, true: 0}[back]; joins > 1 || leaves != want {
				t.Errorf("got %d joins and %d leaves, want 1 and %d", joins, leaves, want)
			}
		})
	}
}

// A message to a stream with beat=auto proves as much as an answer to a ping.
func TestMessagesProve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		c := s.talk(request{path: "ws?beat=auto", user: "alice"})
		go io.Copy(io.Discard, c.socket.conn) // it answers no ping
		for range 10 {
			time.Sleep(30 * time.Second)
			c.say(`{"type":"heartbeat"}`)
			s.sweep()
		}
		time.Sleep(30 * time.Second)
		if got := s.names("site"); got != "alice" {
			t.Errorf("got %q online, want alice", got)
		}
	})
}
