package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// However many readers there are, they all get every diff, in order, and cost no
// goroutine.
func TestTCPManyReaders(t *testing.T) {
	const readers, diffs = 300, 40
	overTCP(t, streams, func(t *testing.T, over transport) {
		s := newTCPSite(t, setup{
			presence: track.Config{MergeWindow: -1},
			handlers: handlers.Config{MaxConnectionsPerAddress: -1, Authorize: anyTopic},
		})
		before := runtime.NumGoroutine()
		peers := make([]*peer, readers)
		for i := range peers {
			peers[i] = s.peer(over, request{path: "observe=1" + strings.Repeat("&topic=site&topic=thread:1", i%2)})
			peers[i].until(`"truncated":false}`)
		}
		if n := routines(before + 10); n > before+10 {
			t.Errorf("got %d goroutines for %d streams, want about none", n-before, readers)
		}
		var all sync.WaitGroup
		for _, p := range peers {
			all.Go(func() {
				for i := range diffs {
					p.until(fmt.Sprintf(`"user%02d":{`, i))
				}
			})
		}
		for i := range diffs {
			s.enter(presence.User{ID: presence.UserID(fmt.Sprintf("user%02d", i))})
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		for _, p := range peers {
			p.conn.Close()
		}
		s.none()
	})
}

// big is a user whose profile fills a pipe.
func big(i int) presence.User {
	data := fmt.Sprintf(`{"n":"%0*d"}`, 4000, i)
	return presence.User{ID: presence.UserID(fmt.Sprint("u", i)), Data: []byte(data)}
}

// A client that does not read is disconnected at the write deadline. Other clients do not
// wait for it.
func TestTCPStalled(t *testing.T) {
	t.Parallel()
	overTCP(t, streams, func(t *testing.T, over transport) {
		s := newTCPSite(t, setup{
			presence: track.Config{MergeWindow: -1, MaxRoster: -1}, // on a fast machine 10,000 users come within the deadline
			handlers: handlers.Config{WriteDeadline: time.Second},
		})
		stalled := s.slow(over)
		l := s.follow(over, "observe=1", "").started(1)
		for i := 0; s.handler.Stats().SlowCut == 0; i++ {
			s.enter(big(i))
			l.want("diff")
		}
		// A client that reads again within a second learns why.
		if text, err := stalled.ends(); err == nil && over.path == overSocket.path {
			t.Log("the stalled reader found an orderly end")
			if !strings.Contains(text, "the client reads too slowly: reconnect") {
				t.Errorf("got an end without a reason: %.200q", text[max(0, len(text)-200):])
			}
		}
		eventually(t, "only who reads is left", func() bool { return s.tracker.Stats().Connections == 1 })
		l.close()
		s.none()
	})
}

// A client that reads again before the write deadline gets a state for what it missed.
func TestTCPLate(t *testing.T) {
	t.Parallel()
	overTCP(t, streams, func(t *testing.T, over transport) {
		s := newTCPSite(t, setup{
			presence: track.Config{MergeWindow: -1},
			handlers: handlers.Config{WriteDeadline: patience}, // longer than the changes take
		})
		late := s.slow(over)
		l := s.follow(over, "observe=1", "").started(1)
		for i := range 320 { // 1.3 MB: more than the log keeps
			s.enter(big(i))
			l.want("diff")
		}
		eventually(t, "one is behind", func() bool { return s.handler.Stats().Behind == 1 })
		late.until(`"truncated":true}`) // what it had missed by then is behind that
		if got := s.tracker.Stats().Resyncs; got < 1 {
			t.Errorf("got %d states for who was too slow, want one", got)
		}
		s.tracker.Seen("site", presence.User{ID: "last"}, presence.Device{})
		late.until(`"last":{`)
		late.conn.Close()
		l.close()
		s.none()
	})
}

// slow returns a reader that has its state, and reads no more.
func (s *site) slow(over transport) *peer {
	s.t.Helper()
	p := s.peer(over, request{path: "observe=1"})
	p.until(`"truncated":false}`)
	return p
}

// Output that a client reads in small pieces arrives whole.
func TestTCPSmallBites(t *testing.T) {
	overTCP(t, streams, func(t *testing.T, over transport) {
		s := newTCPSite(t, setup{})
		for i := range 200 {
			s.tracker.Seen("site", big(i), presence.Device{})
		}
		eventually(t, "all are there", func() bool {
			view, err := s.tracker.View(t.Context(), "site")
			return err == nil && view.Total == 200
		})
		l := s.follow(over, "observe=1&limit=1000", "")
		time.Sleep(100 * time.Millisecond) // until the sockets are full
		if got := s.handler.Stats().Behind; got != 1 {
			t.Logf("got %d behind: the sockets take all of it", got)
		}
		l.want("welcome")
		if got := l.want("state").data; len(got.Users) != 200 {
			t.Errorf("got %d users, want 200", len(got.Users))
		}
		l.close()
		s.none()
	})
}

// However a client goes, its stream ends, and its user stays for the grace.
func TestTCPGone(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(p *peer){
		"closed":      func(p *peer) { p.conn.Close() },
		"reset":       func(p *peer) { p.conn.SetLinger(0); p.conn.Close() },
		"half closed": func(p *peer) { p.conn.CloseWrite() },
		"garbage":     func(p *peer) { p.conn.Write(make([]byte, 64<<10)) },
	} {
		t.Run(name, func(t *testing.T) {
			overTCP(t, streams, func(t *testing.T, over transport) {
				s := newTCPSite(t, setup{})
				p, guest := s.peer(over, request{user: "alice"}), s.peer(over, request{})
				p.until(`"truncated":false}`)
				guest.until(`"truncated":false}`)
				leave(p)
				leave(guest)
				s.none()
				if got := s.names("site"); got != "alice" {
					t.Errorf("got %q online, want alice: the grace is 10 s", got)
				}
				p.ends() // whether our end was told
			})
		})
	}
}

// A little of what a client of Server-Sent Events sends is passed over.
func TestTCPSomeGarbage(t *testing.T) {
	s := newTCPSite(t, setup{})
	p := s.peer(overSSE, request{body: "GET / HTTP/1.1\r\n\r\n"})
	p.until(`"truncated":false}`)
	p.send([]byte("GET / HTTP/1.1\r\n\r\n"))
	s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
	p.until(`"bob":{`)
}

// Each way in which we end a stream is told to the client.
func TestTCPEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code ws.StatusCode
		cfg  handlers.Config
		end  func(s *site)
	}{
		"age":      {1001, handlers.Config{MaxStreamAge: 200 * time.Millisecond}, func(*site) {}},
		"drain":    {1001, handlers.Config{}, func(s *site) { s.tracker.Close(context.Background()) }},
		"sign-out": {1000, handlers.Config{}, func(s *site) { s.tracker.SignOut(context.Background(), "alice") }},
	} {
		t.Run(name, func(t *testing.T) {
			overTCP(t, streams, func(t *testing.T, over transport) {
				const most = 2 * time.Second
				if got := waited(t, most, func() *site {
					s := newTCPSite(t, setup{handlers: tt.cfg})
					wantEnd(t, s, over, tt.code, tt.end)
					return s
				}); got > most {
					t.Errorf("waited %v for the streams to end", got)
				}
			})
		})
	}
}

// wantEnd opens a stream of alice, calls end, and fails unless the stream says why it
// ends.
func wantEnd(t *testing.T, s *site, over transport, code ws.StatusCode, end func(*site)) {
	t.Helper()
	if over.path == overSocket.path {
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		end(s)
		c.wantClosed(code)
		c.close()
	} else {
		p := s.peer(over, request{user: "alice"})
		p.until(`"truncated":false}`)
		end(s)
		if last, err := p.ends(); err != nil || !strings.Contains(last, "\nretry: ") && !strings.HasSuffix(last, "\n") {
			t.Errorf("got %q and then %v, want a retry and an orderly end", last, err)
		}
	}
}

// A client that does not read our last bytes is not waited for.
func TestTCPEndUnread(t *testing.T) {
	t.Parallel()
	overTCP(t, streams, func(t *testing.T, over transport) {
		const most = 3 * time.Second
		if got := waited(t, most, func() *site {
			s := newTCPSite(t, setup{presence: track.Config{MergeWindow: -1}})
			p := s.peer(over, request{path: "observe=1"})
			p.until(`"truncated":false}`)
			for i := 0; s.handler.Stats().Behind == 0; i++ {
				s.enter(big(i))
				time.Sleep(time.Millisecond)
			}
			s.tracker.Close(context.Background())
			return s
		}); got > most {
			t.Errorf("waited %v for a client that does not read, want a second", got)
		}
	})
}

// A message over a WebSocket may arrive in pieces of any size, also together with the
// request.
func TestTCPSocketSays(t *testing.T) {
	s := newTCPSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
	say := func(text string) []byte { return clientFrame(ws.OpText, true, []byte(text)) }
	p := s.peer(overSocket, request{user: "alice", body: string(say(`{"type":"subscribe","topic":"thread:1"}`))})
	p.head(http.StatusSwitchingProtocols)
	p.until(`"topic":"site"`)
	p.until(`"topic":"thread:1"`)
	p.until(`"truncated":false}`)
	for text, want := range map[string]string{
		`{"type":"status","status":"away"}`:      `"status":"away"`,
		`{"type":"snapshot","topic":"thread:1"}`: `"event":"state"`,
		`{"type":"nonsense"}`:                    `"event":"error"`,
	} {
		for _, b := range say(text) {
			p.send([]byte{b})
		}
		p.until(want)
	}
	p.send(append(clientFrame(ws.OpPing, true, []byte("there?")), say(`{"type":"unsubscribe","topic":"site"}`)...))
	p.until("there?")
	p.send(clientFrame(ws.OpClose, true, []byte{0x03, 0xe8}))
	if last, err := p.ends(); err != nil || !strings.HasSuffix(last, "\x88\x02\x03\xe8") {
		t.Errorf("got %q and then %v, want our close frame and an orderly end", last, err)
	}
	s.none()
}

// Messages over the rate end their stream, and no other.
func TestTCPSocketRate(t *testing.T) {
	t.Parallel()
	s := newTCPSite(t, setup{})
	other := s.follow(overSocket, "", "bob").started(1)
	p := s.peer(overSocket, request{user: "alice"})
	p.until(`"truncated":false}`)
	flood := strings.Repeat(string(clientFrame(ws.OpText, true, []byte(`{"type":"heartbeat"}`))), 100_000)
	go p.conn.Write([]byte(flood))
	p.until("\x03\xf0too many messages") // 1008
	eventually(t, "alice's stream has ended", func() bool { return s.handler.Stats().Connections.WebSocket == 1 })
	if got := s.handler.Stats().Limited; got != 1 {
		t.Errorf("got %d limited, want 1", got)
	}
	s.tracker.Seen("site", presence.User{ID: "carol"}, presence.Device{})
	for e := other.want("diff"); keys(e.data.Joins) != "carol"; e = other.want("diff") {
	}
}

// The site is asked again and again whether a stream may go on, about the request
// that it was opened with, long after its handler has returned.
func TestTCPAuthorize(t *testing.T) {
	type key struct{}
	overTCP(t, streams, func(t *testing.T, over transport) {
		var asked atomic.Int32
		var barred atomic.Bool
		s := newTCPSite(t, setup{
			presence: track.Config{TTL: 150 * time.Millisecond},
			handlers: handlers.Config{Authorize: func(r *http.Request, v presence.Visitor, topic presence.Topic) bool {
				asked.Add(1)
				if c, err := r.Cookie("session"); err != nil || c.Value != "s1" || r.Context().Err() != nil || r.Context().Value(key{}) != "kept" ||
					r.URL.Query().Get("observe") != "1" || v.User.ID != "alice" || topic != "site" {
					t.Errorf("asked for %s and %s about %+v (%v)", v.User.ID, topic, r, r.Context().Err())
				}
				return !barred.Load()
			}},
			wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, "kept")))
				})
			},
		})
		p := s.peer(over, request{path: "observe=1", user: "alice", header: map[string]string{"Cookie": "session=s1"}})
		p.until(`"truncated":false}`)
		eventually(t, "the site was asked three times", func() bool { return asked.Load() >= 3 })
		barred.Store(true)
		if last, err := p.ends(); err != nil || over.path == overSocket.path && !strings.Contains(last, "\x03\xf0") {
			t.Errorf("got %q and then %v, want 1008 and an orderly end", last, err)
		}
		s.none()
	})
}

// An Authorize that hangs does not delay other streams.
func TestTCPAuthorizeHangs(t *testing.T) {
	var asked atomic.Int32
	hang := make(chan struct{})
	s := newTCPSite(t, setup{
		presence: track.Config{TTL: 150 * time.Millisecond},
		handlers: handlers.Config{Authorize: func(r *http.Request, v presence.Visitor, _ presence.Topic) bool {
			if v.User.ID == "alice" && asked.Add(1) > 1 {
				<-hang
			}
			return true
		}},
	})
	s.follow(overSSE, "", "alice").started(1)
	l := s.follow(overSSE, "observe=1", "").started(1)
	eventually(t, "the site hangs", func() bool { return asked.Load() > 1 })
	for i := range 20 {
		s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
		l.want("diff")
	}
	close(hang)
}
