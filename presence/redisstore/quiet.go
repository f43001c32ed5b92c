package redisstore

import (
	"context"
	"net"
	"time"
)

// go-redis logs each dial that fails: about three lines a second on standard error while the server is out.
// Its logger is one for the whole process, so a library must not replace it. Instead, dials of a client of
// Open never fail. If there is no server, the client gets a connection on which each read and write fails
// with the error of the dial. Commands then fail with the same error as they would otherwise.

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func quiet(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return failedConn{err}, nil
		}
		return c, nil
	}
}

// A failedConn takes the place of a connection that could not be made.
type failedConn struct{ err error }

func (c failedConn) Read([]byte) (int, error)       { return 0, c.err }
func (c failedConn) Write([]byte) (int, error)      { return 0, c.err }
func (failedConn) Close() error                     { return nil }
func (failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (failedConn) SetDeadline(time.Time) error      { return nil }
func (failedConn) SetReadDeadline(time.Time) error  { return nil }
func (failedConn) SetWriteDeadline(time.Time) error { return nil }
