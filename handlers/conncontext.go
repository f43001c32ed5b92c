package handlers

import (
	"context"
	"net"
	"net/http"
	"syscall"
)

// connKey is the key of a connection in the contexts of its requests.
type connKey struct{}

// ConnContext is for [http.Server.ConnContext]. With it, a stream that net/http writes (over HTTP/2, over TLS,
// or with a writer that cannot be hijacked) knows its connection. If the client stops reading, the kernel then
// keeps about 64 KB for it, and the connection is closed a second after the write deadline. Without
// ConnContext the kernel keeps some megabytes. Over HTTP/2 it keeps them for as long as the client likes,
// because net/http ends only the stream and not the connection. Other requests of the connection are not
// affected.
//
// It adds one value to the context. A ConnContext of the site's own may call it. It may
// be called concurrently.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// unknownConn reports whether the server of a request speaks TLS or HTTP/2 by itself and
// has no ConnContext. HTTP/3 has no connections of this kind.
func unknownConn(r *http.Request) bool {
	return r.Context().Value(connKey{}) == nil && (r.ProtoMajor == 2 || r.ProtoMajor == 1 && r.TLS != nil)
}

// innermost returns the connection below all wrappers: below TLS, the socket.
func innermost(conn net.Conn) net.Conn {
	for {
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = outer.NetConn()
	}
}

// control calls f with the socket of a connection. It does nothing if conn is nil or has
// no socket.
func control(conn net.Conn, f func(fd int)) {
	if c, ok := innermost(conn).(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { f(int(fd)) })
		}
	}
}

// abort closes the socket of a client that does not read. Close would be wrong over TLS: it first writes an
// alert, and waits until the client reads that.
func abort(conn net.Conn) {
	if conn != nil {
		innermost(conn).Close()
	}
}
