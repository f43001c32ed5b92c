package handlers_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A stallable connection reads until it stalls, and then no more.
type stallable struct {
	net.Conn
	stalled chan struct{} // closed when it does
	closed  chan struct{}
	once    sync.Once
}

func (c *stallable) Read(b []byte) (int, error) {
	select {
	case <-c.stalled:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return c.Conn.Read(b)
	}
}

func (c *stallable) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// queued returns how many bytes the kernel keeps that the other end of a
// connection has not taken.
func queued(t *testing.T, conn net.Conn) (n int32) {
	t.Helper()
	if outer, ok := conn.(*tls.Conn); ok {
		conn = outer.NetConn()
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	noError(t, err)
	raw.Control(func(fd uintptr) { // once closed, it keeps none
		syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	})
	return n
}

// A client that stops reading a stream that no shard drives costs little kernel memory. It
// is disconnected at the write deadline; over HTTP/2 its connection is closed too.
func TestStalledInTheKernel(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	t.Cleanup(certificate.Close)
	listen := func(secure bool) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		noError(t, err)
		if secure {
			l = tls.NewListener(l, &tls.Config{Certificates: certificate.TLS.Certificates})
		}
		return l
	}
	http2 := new(http.Protocols)
	http2.SetUnencryptedHTTP2(true)
	for _, tt := range []struct {
		name      string
		secure    bool
		wrap      func(http.Handler) http.Handler
		protocols *http.Protocols
		request   request
	}{
		{name: "no hijacking", wrap: unhijackable, request: request{path: "events?observe=1"}},
		{name: "WebSocket over TLS", secure: true, request: request{path: "ws?observe=1", header: handshake}},
		{name: "HTTP/2", protocols: http2, request: request{path: "events?observe=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var served atomic.Value // of net.Conn
			s := newSite(t, setup{
				listener: listen(tt.secure), wrap: tt.wrap,
				presence: track.Config{MergeWindow: -1},
				handlers: handlers.Config{WriteDeadline: 2 * time.Second}, // longer than a busy machine takes for a write
				server: func(srv *http.Server) {
					srv.Protocols = tt.protocols
					srv.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
						served.Store(conn)
						return handlers.ConnContext(ctx, conn)
					}
				},
			})
			conn := s.stallable(tt.secure, tt.protocols)
			resp := s.do(tt.request)
			defer resp.Body.Close()
			for got := []byte(nil); !bytes.Contains(got, []byte(`"truncated":false}`)); {
				b := make([]byte, 1<<10)
				n, err := resp.Body.Read(b)
				if err != nil {
					t.Fatalf("after %q: %v", got, err)
				}
				got = append(got, b[:n]...)
			}
			close(conn.stalled)

			changes, stop := iter.Pull2(s.tracker.Changes(t.Context(), "site", ""))
			changes()
			for i := range 300 { // 1.2 MB, which the kernel would keep as it is
				s.enter(big(i))
				changes()
			}
			stop()
			var most int32
			eventually(t, "the stalled reader is cut", func() bool {
				most = max(most, queued(t, served.Load().(net.Conn)))
				return s.handler.Stats().SlowCut == 1
			})
			if most > 128<<10 { // a write may go over the bound by one large segment
				t.Errorf("got %d bytes in the kernel, want 128 KB at most", most)
			}
			s.none()
		})
	}
}

// stallable makes the client of a site dial a connection that can stall, once.
func (s *site) stallable(secure bool, protocols *http.Protocols) *stallable {
	s.t.Helper()
	conn, err := s.dial(context.Background(), "", "")
	noError(s.t, err)
	noError(s.t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	slow := &stallable{Conn: conn, stalled: make(chan struct{}), closed: make(chan struct{})}
	transport := s.client.Transport.(*http.Transport)
	transport.Protocols = protocols
	transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 4 << 20, MaxReceiveBufferPerConnection: 16 << 20}
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		if secure {
			return tls.Client(slow, &tls.Config{InsecureSkipVerify: true}), nil
		}
		return slow, nil
	}
	return slow
}
