package main

import (
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo serves what it gets, at an address.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *proxy) net.Conn {
	c, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, text string) {
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Errorf("got %q, %v; want %q", b, err, text)
	}
}

func TestProxyFreezes(t *testing.T) {
	p, err := newProxy("tcp", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c := dial(t, p)
	say(t, c, "one")
	hear(t, c, "one")
	p.freeze()
	say(t, c, "two")
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n > 0 || !os.IsTimeout(err) {
		t.Errorf("frozen: got %d bytes, %v; want none, and a connection that stays", n, err)
	}
	p.thaw()
	hear(t, c, "two")
	if got := p.down.Load(); got != int64(len("onetwo")) {
		t.Errorf("got %d bytes to the client, want 6", got)
	}
}

func TestProxyLeadsElsewhere(t *testing.T) {
	p, err := newProxy("tcp", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c := dial(t, p)
	say(t, c, "one")
	hear(t, c, "one")
	p.lead("", "")
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("got %v, want a connection that was cut", err)
	}
	refused := dial(t, p)
	refused.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := refused.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("got %v, want a connection that is refused", err)
	}
	p.lead("tcp", echo(t))
	again := dial(t, p)
	say(t, again, "two")
	hear(t, again, "two")
}
