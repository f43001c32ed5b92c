package handlers_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Helpers for tests over real sockets, with a real clock: of streams that shards drive.

// patience is how long a test waits for what should come at once, on a machine
// that has much else to do.
const patience = time.Minute

// newTCPSite returns a site that listens on a port of its own.
func newTCPSite(t *testing.T, o setup) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	o.listener = listener
	return newSite(t, o)
}

// address returns where a site listens.
func (s *site) address() string {
	s.t.Helper()
	conn, err := s.dial(s.t.Context(), "", "")
	noError(s.t, err)
	defer conn.Close()
	return conn.RemoteAddr().String()
}

// overTCP runs a test over each of some transports, on real sockets.
func overTCP(t *testing.T, transports []transport, test func(t *testing.T, over transport)) {
	for _, tr := range transports {
		t.Run(tr.path, func(t *testing.T) { test(t, tr) })
	}
}

// eventually waits until a condition holds, and fails if that takes long.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

// none waits until no stream is open, and nothing of one is left.
func (s *site) none() {
	s.t.Helper()
	eventually(s.t, "every stream has ended", func() bool {
		_, addresses := s.handler.Counted()
		stats := s.handler.Stats()
		return s.tracker.Stats().Connections == 0 && stats.Connections.SSE+stats.Connections.WebSocket == 0 && stats.Behind == 0 && addresses == 0
	})
}

// A peer is the other end of a socket, byte by byte.
type peer struct {
	t    *testing.T
	conn *net.TCPConn
	from *bufio.Reader
}

// peer connects, and asks for a stream of a transport.
func (s *site) peer(over transport, r request) *peer {
	s.t.Helper()
	conn, err := s.dial(context.Background(), "", "")
	noError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	p := &peer{t: s.t, conn: conn.(*net.TCPConn), from: bufio.NewReader(conn)}
	header := map[string]string{"Host": "forum.localhost"}
	if over.path == overSocket.path {
		maps.Copy(header, handshake)
	}
	if r.user != "" {
		header["X-User"] = r.user
	}
	maps.Copy(header, r.header)
	ask := fmt.Sprintf("GET /presence/%s?%s HTTP/1.1\r\n", over.path, r.path)
	for name, value := range header {
		ask += name + ": " + value + "\r\n"
	}
	p.send([]byte(ask + "\r\n" + r.body))
	return p
}

func (p *peer) send(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// head reads the head of the answer, which must have a status.
func (p *peer) head(status int) http.Header {
	p.t.Helper()
	resp, err := http.ReadResponse(p.from, nil)
	if err != nil || resp.StatusCode != status {
		p.t.Fatalf("got %+v (%v), want status %d", resp, err, status)
	}
	return resp.Header
}

// until reads until a text comes, and fails if it does not.
func (p *peer) until(text string) {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	var got strings.Builder
	for !strings.HasSuffix(got.String(), text) {
		b, err := p.from.ReadByte()
		if err != nil {
			all := got.String()
			p.t.Fatalf("got %d bytes, at last %q, and then %v, want %q", len(all), all[max(0, len(all)-200):], err, text)
		}
		got.WriteByte(b)
	}
}

// ends reads to the end, and returns what came, and how it ended.
func (p *peer) ends() (string, error) {
	defer p.conn.Close()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(p.from)
	return string(b), err
}

// files returns how many files this process has open.
func files(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not tell what is open")
	}
	return len(entries)
}

// routines returns how many goroutines there are, once that has settled at a
// number or below.
func routines(want int) (n int) {
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(10 * time.Millisecond) {
		if n = runtime.NumGoroutine(); n <= want {
			break
		}
	}
	return n
}

// waited returns how long Wait waits for the streams to end. A machine may have other
// things to do: where that is longer than most, it is the least of three sites.
func waited(t *testing.T, most time.Duration, ended func() *site) time.Duration {
	t.Helper()
	least := time.Hour
	for range 3 {
		s := ended()
		begin := time.Now()
		if err := s.handler.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if least = min(least, time.Since(begin)); least <= most {
			break
		}
	}
	return least
}

// unhijackable is middleware whose writer can flush, and cannot be hijacked.
func unhijackable(next http.Handler) http.Handler {
	type deadlines interface{ SetWriteDeadline(time.Time) error }
	type writer struct {
		http.ResponseWriter
		http.Flusher
		deadlines
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(writer{w, w.(http.Flusher), w.(deadlines)}, r)
	})
}
