package handlers_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A stream does not pass through the writers of middleware: it is neither compressed nor
// collected. It has the headers that middleware has set.
func TestTCPBehindMiddleware(t *testing.T) {
	var dumped atomic.Int64
	wrap := func(next http.Handler) http.Handler {
		e := echo.New()
		e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure(),
			middleware.BodyDump(func(_ echo.Context, _, body []byte) { dumped.Add(int64(len(body))) }))
		e.Logger.SetOutput(io.Discard)
		e.Any("/presence/*", echo.WrapHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Length", "7")
			next.ServeHTTP(w, r)
		})))
		return e
	}
	overTCP(t, streams, func(t *testing.T, over transport) {
		s := newTCPSite(t, setup{wrap: wrap})
		p := s.peer(over, request{user: "alice", header: map[string]string{"Accept-Encoding": "gzip"}})
		header := p.head(over.status)
		if header.Get("Set-Cookie") != "a=1" || header.Get("X-Content-Type-Options") == "" || header.Get("Content-Encoding")+header.Get("Content-Length") != "" {
			t.Errorf("got the headers %v, want those of middleware, without any about the body", header)
		}
		if over.path == "events" && (header.Get("Content-Type") != "text/event-stream" || header.Get("Cache-Control") != "no-store, no-transform" || header.Get("X-Accel-Buffering") != "no") {
			t.Errorf("got the headers %v, want those of an event stream", header)
		}
		p.until(`"truncated":false}`)
		s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
		p.until(`"bob":{`)
		p.conn.Close()
		s.none()
		if dumped.Load() > 0 {
			t.Errorf("a body dump collected %d bytes of a stream", dumped.Load())
		}
	})
}

// A wrapped listener's connections are closed as it wraps them.
type countingListener struct {
	net.Listener
	open *atomic.Int32
}

type countedConn struct {
	net.Conn
	once *sync.Once
	open *atomic.Int32
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return countedConn{c, new(sync.Once), l.open}, nil
}

func (c countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// A connection that somebody wrapped is written to through its wrapping.
func TestTCPWrapped(t *testing.T) {
	overTCP(t, streams, func(t *testing.T, over transport) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		noError(t, err)
		var open atomic.Int32
		s := newSite(t, setup{listener: countingListener{listener, &open}})
		p := s.peer(over, request{user: "alice"})
		p.until(`"truncated":false}`)
		s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
		p.until(`"bob":{`)
		if open.Load() != 1 {
			t.Errorf("got %d connections open, want 1", open.Load())
		}
		p.conn.Close()
		s.none()
		eventually(t, "the wrapped connection is closed", func() bool { return open.Load() == 0 })
	})
}

// Over a Unix socket, as behind a local proxy, shards drive streams too.
func TestUnixSocket(t *testing.T) {
	listener, err := net.Listen("unix", t.TempDir()+"/s")
	noError(t, err)
	s := newSite(t, setup{listener: listener})
	l := s.follow(overSSE, "", "alice").started(1)
	s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
	l.want("diff")
	l.close()
	s.none()
}

// Over TLS, by HTTP/1.1 and by HTTP/2.
func TestTLS(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", http2), func(t *testing.T) {
			t.Parallel()
			tracker, err := track.New(memstore.New(), track.Config{})
			noError(t, err)
			handler := handlers.New(tracker, handlers.Config{})
			server := httptest.NewUnstartedServer(identify(handler))
			server.EnableHTTP2 = http2
			server.Config.WriteTimeout = 2 * time.Second // it bounds the handshake, too
			server.StartTLS()
			resp, err := server.Client().Get(server.URL + "/presence/events?observe=1")
			noError(t, err)
			if want := map[bool]int{false: 1, true: 2}[http2]; resp.ProtoMajor != want {
				t.Errorf("got %s, want HTTP/%d", resp.Proto, want)
			}
			l := newListener(t, resp).started(1)
			time.Sleep(server.Config.WriteTimeout + 100*time.Millisecond) // it is not for streams
			tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
			l.want("diff")
			l.close()
			if err := tracker.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if err := handler.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			server.Close()
		})
	}
}

// Many clients that break the protocol and close in the middle of it leave nothing
// behind, and do not affect other clients.
func TestTCPAbuse(t *testing.T) {
	s := newTCPSite(t, setup{handlers: handlers.Config{MaxConnectionsPerAddress: -1, MaxRate: -1}})
	l := s.follow(overSSE, "", "alice").started(1)
	told := l.feed()
	opens, routines := files(t), runtime.NumGoroutine()
	inUse := func() int64 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.GC() // pools keep what they have for one
		runtime.ReadMemStats(&memory)
		return int64(memory.HeapAlloc)
	}
	flood := func(n int) {
		var all sync.WaitGroup
		for worker := range 8 {
			random := rand.New(rand.NewPCG(uint64(worker), 7))
			all.Go(func() {
				for range n / 8 {
					p := s.peer(streams[random.IntN(2)], request{})
					if random.IntN(4) > 0 {
						p.until("welcome")
					}
					switch random.IntN(5) {
					case 0:
						p.conn.SetLinger(0)
					case 1:
						p.conn.CloseWrite()
					case 2:
						garbage := make([]byte, random.IntN(20_000))
						for i := range garbage {
							garbage[i] = byte(random.Uint32())
						}
						p.conn.Write(garbage)
					case 3:
						p.conn.Write(clientFrame(ws.OpText, false, make([]byte, 100)))
					}
					p.conn.Close()
				}
			})
		}
		all.Wait()
		eventually(t, "only alice is left", func() bool { return s.tracker.Stats().Connections == 1 && s.handler.Stats().Connections.WebSocket == 0 })
	}
	flood(200)
	before := inUse()
	flood(1000)
	eventually(t, fmt.Sprintf("what a thousand streams took is back: %d bytes were in use", before), func() bool {
		return inUse()-before < 2<<20
	})
	eventually(t, fmt.Sprintf("%d files and %d goroutines are left", opens, routines), func() bool {
		return files(t) <= opens+2 && runtime.NumGoroutine() <= routines+4
	})
	s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
	if e := <-told; !strings.Contains(keys(e.data.Joins), "bob") {
		t.Errorf("alice got %+v, want a diff with bob", e)
	}
	l.close()
	s.none()
}
