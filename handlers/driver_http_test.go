package handlers_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	sseclient "github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A client that others wrote reads the stream, by the parameter it sends.
func TestStreamReadByR3labs(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.see("site", "alice")
		client := sseclient.NewClient("http://forum.test/presence/events")
		client.Connection = s.client
		events := make(chan *sseclient.Event)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- client.SubscribeWithContext(ctx, "site", func(e *sseclient.Event) {
				select {
				case events <- e:
				case <-ctx.Done():
				}
			})
		}()
		read := func(typ string) (got payload, id string) {
			t.Helper()
			for e := range events {
				if string(e.Event) == typ {
					noError(t, json.Unmarshal(e.Data, &got))
					return got, string(e.ID)
				}
			}
			return got, ""
		}
		read("welcome")
		if got, id := read("state"); keys(got.Users) != "alice" || id != got.Cursor {
			t.Errorf("got users %q and id %q, want alice and %q", keys(got.Users), id, got.Cursor)
		}
		s.see("site", "bob")
		if got, _ := read("diff"); keys(got.Joins) != "bob" {
			t.Errorf("got joins %q, want bob", keys(got.Joins))
		}
		read("heartbeat")
		cancel()
		for len(done) == 0 {
			select { // the library's reader hands over what it has, before it sees the end
			case <-events:
			case <-time.After(time.Second):
			}
		}
	})
}

// http2InBubbles skips a test on Go 1.25, whose HTTP/2 server shares channels between
// bubbles.
func http2InBubbles(t *testing.T) {
	if strings.HasPrefix(runtime.Version(), "go1.25") {
		t.Skip("the HTTP/2 server of Go 1.25 works in one bubble alone; Go 1.26 runs the test")
	}
}

// HTTP/2 resets a stream whose write deadline passes, also an idle one: ours
// lives on.
func TestStreamOverHTTP2(t *testing.T) {
	http2InBubbles(t)
	synctest.Test(t, func(t *testing.T) {
		only := new(http.Protocols)
		only.SetUnencryptedHTTP2(true)
		s := newSite(t, setup{server: func(srv *http.Server) { srv.Protocols, srv.WriteTimeout = only, 5*time.Second }})
		s.client.Transport.(*http.Transport).Protocols = only
		l := s.listen(request{path: "events", user: "alice"})
		if l.resp.ProtoMajor != 2 {
			t.Fatalf("got %s, want HTTP/2", l.resp.Proto)
		}
		l.started(1).quiet(10 * time.Minute)
		s.see("site", "bob")
		if got := l.want("diff").data; keys(got.Joins) != "bob" {
			t.Errorf("got joins %q, want bob", keys(got.Joins))
		}
	})
}

// Over HTTP/2 a client that does not read a stream loses that stream after the write
// deadline, and keeps the connection.
func TestStalledOverHTTP2(t *testing.T) {
	http2InBubbles(t)
	synctest.Test(t, func(t *testing.T) {
		only := new(http.Protocols)
		only.SetUnencryptedHTTP2(true)
		s := newSite(t, setup{server: func(srv *http.Server) { srv.Protocols = only }})
		transport, dialed := s.client.Transport.(*http.Transport), 0
		transport.Protocols, transport.HTTP2 = only, &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialed++
			return s.dial(ctx, network, addr)
		}
		l := s.listen(request{path: "events?observe=1"}).started(1)
		for i := range 20 {
			s.tracker.Seen("site", big(i), presence.Device{})
		}
		time.Sleep(9 * time.Second)
		if got := s.handler.Stats(); got.Behind != 1 || got.SlowCut != 0 {
			t.Errorf("before the deadline: got %d behind and %d cut, want 1 and 0", got.Behind, got.SlowCut)
		}
		time.Sleep(2 * time.Second)
		if got := s.handler.Stats(); got.Behind != 0 || got.SlowCut != 1 || got.Connections.SSE != 0 {
			t.Errorf("after the deadline: got %d behind, %d cut and %d open, want 0, 1 and 0", got.Behind, got.SlowCut, got.Connections.SSE)
		}
		l.close()
		s.listen(request{path: "events?observe=1"}).started(1)
		if dialed != 1 {
			t.Errorf("got %d connections, want 1", dialed)
		}
	})
}

// behindEcho puts Echo middleware around a handler.
func behindEcho(middlewares ...echo.MiddlewareFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		e := echo.New()
		e.Use(middlewares...)
		e.Any("/presence/*", echo.WrapHandler(next))
		return e
	}
}

func TestStreamBehindMiddleware(t *testing.T) {
	ignore := func(echo.Context, []byte, []byte) {}
	for _, tt := range []struct {
		name       string
		middleware []echo.MiddlewareFunc
		header     map[string]string
	}{
		{"none", nil, nil},
		{"body dump", []echo.MiddlewareFunc{middleware.BodyDump(ignore)}, nil},
		{"gzip for a client without", []echo.MiddlewareFunc{middleware.Gzip()}, nil},
		{"gzip", []echo.MiddlewareFunc{middleware.Gzip()}, map[string]string{"Accept-Encoding": "gzip"}},
		{"gzip and body dump", []echo.MiddlewareFunc{middleware.Gzip(), middleware.BodyDump(ignore)}, map[string]string{"Accept-Encoding": "gzip"}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := newSite(t, setup{wrap: behindEcho(tt.middleware...)})
			resp := s.do(request{path: "events", user: "alice", header: tt.header})
			if resp.Header.Get("Content-Encoding") == "gzip" {
				plain, err := gzip.NewReader(resp.Body)
				noError(t, err)
				closer := resp.Body
				defer closer.Close()
				resp.Body = plain
			}
			l := newListener(t, resp)
			defer l.close()
			l.started(1).quiet(time.Minute)
			s.see("site", "bob")
			if got := l.want("diff").data; keys(got.Joins) != "bob" {
				t.Errorf("got joins %q, want bob", keys(got.Joins))
			}
		})
	}
}

// A middleware that collects answers makes streaming impossible. The answer says so,
// nothing panics, and no user is recorded.
func TestStreamBehindCollector(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		//lint:ignore SA1019 sites have this middleware, and streams must get along with it
		"Echo's Timeout": behindEcho(middleware.TimeoutWithConfig(middleware.TimeoutConfig{Timeout: time.Minute})),
		"http.TimeoutHandler": func(next http.Handler) http.Handler {
			return http.TimeoutHandler(next, time.Minute, "")
		},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{wrap: wrap})
			for _, over := range streams {
				resp, body := s.fetch(request{path: over.path, user: "alice", header: handshake})
				wantProblem(t, resp, body, http.StatusInternalServerError)
			}
			if got := s.names("site"); got != "" {
				t.Errorf("got %q online, want nobody", got)
			}
		})
	}
}

// countingWriter counts what a handler does to its answer.
type countingWriter struct {
	http.ResponseWriter
	writes, flushes *atomic.Int32
}

func (w countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w countingWriter) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("event: ")) {
		w.writes.Add(1)
	}
	return w.ResponseWriter.Write(b)
}

func (w countingWriter) FlushError() error {
	w.flushes.Add(1)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// All that has come up goes out in one write.
func TestStreamWritesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writes, flushes atomic.Int32
		s := newSite(t, setup{
			handlers: handlers.Config{Authorize: anyTopic},
			wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					next.ServeHTTP(countingWriter{w, &writes, &flushes}, r)
				})
			},
		})
		l := s.listen(request{path: "events?topic=site&topic=a&topic=b&observe=1"}).started(3)
		synctest.Wait()
		if writes.Load() != 1 || flushes.Load() != 1 {
			t.Errorf("the welcome and three states: got %d writes and %d flushes, want 1 and 1", writes.Load(), flushes.Load())
		}
		time.Sleep(10 * time.Second) // at 15 s each topic has its heartbeat
		writes.Store(0)
		flushes.Store(0)
		for range 3 {
			if e, _ := l.next(); e.typ != "heartbeat" {
				t.Errorf("got %s, want heartbeat", e.typ)
			}
		}
		synctest.Wait()
		if writes.Load() != 1 || flushes.Load() != 1 {
			t.Errorf("three heartbeats: got %d writes and %d flushes, want 1 and 1", writes.Load(), flushes.Load())
		}
	})
}
