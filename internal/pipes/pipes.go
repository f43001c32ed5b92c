// Package pipes is a network in memory for servers and clients under testing/synctest, where minutes take no
// time. It has no buffers: a write blocks until the other side reads.
package pipes

import (
	"context"
	"net"
	"sync"
)

// A Network has one address at most. It is safe for concurrent use.
type Network struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// New returns a network without a server.
func New() *Network { return &Network{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Close ends each Dial that waits for a server. A client may still dial for a request that it has given up.
func (n *Network) Close() { n.once.Do(func() { close(n.closed) }) }

// Dial connects to the server. It waits for one until ctx ends.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Listen returns a listener for a server. Once it is closed, another may take its
// place.
func (n *Network) Listen() net.Listener {
	return &listener{conns: n.conns, closed: make(chan struct{})}
}

type listener struct {
	conns  <-chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
