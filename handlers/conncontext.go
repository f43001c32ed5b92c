package handlers

import (
	"context"
	"net"
	"syscall"
)

// connKey is a connection's place in the contexts of its requests.
type connKey struct{}

// ConnContext is for [http.Server.ConnContext]: it lets a stream that net/http
// writes know its connection. Without it such a stream (HTTP/2, TLS, or behind a
// writer that cannot be hijacked) works as well, but a client that stops reading
// makes the kernel keep some megabytes for it, and over HTTP/2, where net/http ends
// a stream and not the connection, for as long as the client likes. With it the
// kernel keeps about 64 KB, and the connection is closed a second after the write
// deadline. Other requests of the connection notice nothing.
//
// It stores one value, may be called by a ConnContext of the site's own, and may be
// called concurrently.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// innermost returns what a connection stands on: the socket, of one below TLS.
func innermost(conn net.Conn) net.Conn {
	for {
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = outer.NetConn()
	}
}

// control lets f set what it likes at the socket of a connection. One that cannot
// be seen, or nil, stays as it is.
func control(conn net.Conn, f func(fd int)) {
	if c, ok := innermost(conn).(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { f(int(fd)) })
		}
	}
}

// abort closes the socket of a connection that takes nothing. Over TLS an orderly
// close would say so first, and wait for that to be taken.
func abort(conn net.Conn) {
	if conn != nil {
		innermost(conn).Close()
	}
}
