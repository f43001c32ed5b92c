package redisstore

import (
	"context"
	"net"
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
			pipe, _ := net.Pipe()
			return failedConn{pipe, err}, nil
		}
		return c, nil
	}
}

// A failedConn takes the place of a connection that could not be made. The pipe takes its deadlines.
type failedConn struct {
	net.Conn
	err error
}

func (c failedConn) Read([]byte) (int, error)  { return 0, c.err }
func (c failedConn) Write([]byte) (int, error) { return 0, c.err }
