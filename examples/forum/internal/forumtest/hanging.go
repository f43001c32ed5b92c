package forumtest

import (
	"net"
	"sync"
	"testing"
)

// A HangingProxy stands between a forum and Redis. While frozen, it accepts connections and never answers. It
// holds up the bytes in either direction, perhaps in the middle of a command. Once thawed, it passes them all
// on, like a network after an outage.
type HangingProxy struct {
	listener net.Listener
	network  string // of the target
	target   string
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	frozen chan struct{} // closed by thaw; nil: not frozen
	conns  map[net.Conn]struct{}
}

func NewHangingProxy(t testing.TB, network, target string) *HangingProxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &HangingProxy{listener: listener, network: network, target: target, conns: make(map[net.Conn]struct{})}
	p.work.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *HangingProxy) URL() string { return "redis://" + p.listener.Addr().String() }

func (p *HangingProxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.keep(conn) {
			p.work.Go(func() { p.serve(conn) })
		}
	}
}

// keep registers a connection, so that close and cut can end it.
func (p *HangingProxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		conn.Close()
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

func (p *HangingProxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
	conn.Close()
}

// serve copies both ways until either side ends.
func (p *HangingProxy) serve(client net.Conn) {
	defer p.drop(client)
	p.wait()
	server, err := net.Dial(p.network, p.target)
	if err != nil || !p.keep(server) {
		return
	}
	defer p.drop(server)
	p.work.Go(func() {
		defer client.Close()
		p.pump(client, server)
	})
	defer server.Close()
	p.pump(server, client)
}

func (p *HangingProxy) pump(to, from net.Conn) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		p.wait()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait returns once the proxy is not frozen.
func (p *HangingProxy) wait() {
	p.mu.Lock()
	frozen := p.frozen
	p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

func (p *HangingProxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil && !p.closed {
		p.frozen = make(chan struct{})
	}
}

func (p *HangingProxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

func (p *HangingProxy) close() {
	p.Thaw()
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}
