package main

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// A proxy passes bytes between its clients and a server, which may be replaced.
type proxy struct {
	listener net.Listener
	down, up atomic.Int64 // bytes to the clients and from them
	sent     atomic.Int64 // what clients wrote: requests and messages, if each is one write

	mu            sync.Mutex
	network, addr string
	conns         map[net.Conn]bool
	closed        bool
	open          chan struct{} // closed while bytes pass
	small         int           // bytes of the buffers that receive; 0: the kernel's choice
}

// newProxy listens at an address of its own for a server.
func newProxy(network, addr string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, network: network, addr: addr, conns: map[net.Conn]bool{}, open: make(chan struct{})}
	close(p.open)
	go p.accept()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	network, addr, small := p.network, p.addr, p.small
	p.mu.Unlock()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if small > 0 {
			c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, small)
			})
		}
		return err
	}}
	var server net.Conn
	var err error
	if addr != "" {
		server, err = d.Dial(network, addr)
	}
	if err != nil || server == nil || !p.keep(client, server) {
		client.Close()
		if server != nil {
			server.Close()
		}
		return
	}
	go p.pass(server, client, func(n int) { p.up.Add(int64(n)); p.sent.Add(1) })
	p.pass(client, server, func(n int) { p.down.Add(int64(n)) })
}

// keep remembers the two ends of a connection. It reports false if the proxy is closed.
func (p *proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[client], p.conns[server] = true, true
	return true
}

// pass copies until either end closes, and closes the other one.
func (p *proxy) pass(to, from net.Conn, count func(bytes int)) {
	defer func() {
		<-p.gate() // a client that vanished says no goodbye
		p.mu.Lock()
		delete(p.conns, to)
		delete(p.conns, from)
		p.mu.Unlock()
		to.Close()
		from.Close()
	}()
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		<-p.gate()
		if n > 0 {
			count(n)
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) gate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// freeze stops to pass bytes. Nothing is closed: to the server, the client is silent.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

// thaw lets bytes pass again.
func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thawLocked()
}

func (p *proxy) thawLocked() {
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// lead leads new connections to another server, and cuts those there are. An empty address: there
// is no server.
func (p *proxy) lead(network, addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.network, p.addr = network, addr
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.thawLocked()
	for c := range p.conns {
		c.Close()
	}
}
