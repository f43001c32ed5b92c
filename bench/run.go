package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/peers"
	"github.com/rollcall-go/rollcall/bench/internal/readers"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
)

// Descriptors of a child: the pipe by which readers tell the server how far
// they are.
const acksFile = 3

// A bout is one peer in one scenario: a server, its readers, and nothing else on
// the machine that we know of.
type bout struct {
	peer    peers.Peer
	server  *child.Process
	clients *child.Process
	addr    string
	dialed  int
}

func start(p peers.Peer, o peers.Options) (*bout, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &bout{peer: p}
	if b.server, err = child.Start("server", read); err != nil {
		return nil, err
	}
	if b.clients, err = child.Start("readers", write); err != nil {
		b.server.Stop()
		return nil, err
	}
	if b.addr, err = child.Call[string](b.server, "Server.Listen", Begin{p.Name, o}); err != nil {
		return nil, errors.Join(err, b.stop())
	}
	return b, nil
}

func (b *bout) stop() error { return errors.Join(b.clients.Stop(), b.server.Stop()) }

// dial lets n readers come.
func (b *bout) dial(n int, change func(*readers.Dial)) error {
	d := readers.Dial{Addr: b.addr, Path: b.peer.Path, Framing: b.peer.Framing, Hello: b.peer.Hello, First: b.dialed, N: n}
	if change != nil {
		change(&d)
	}
	b.dialed += n
	_, err := child.Call[struct{}](b.clients, "Readers.Dial", d)
	return err
}

func (b *bout) usage(collect bool) (usage.Usage, error) {
	return child.Call[usage.Usage](b.server, "Server.Usage", collect)
}

// A measured is what happened while a load was published.
type measured struct {
	Published
	readers.Report
	Took   time.Duration // from the first change to the last delivery
	CPU    time.Duration // the server's
	User   time.Duration // of that, outside the kernel
	Before usage.Usage
	After  usage.Usage
}

func (b *bout) measure(l Load) (m measured, err error) {
	if _, err = child.Call[struct{}](b.clients, "Readers.Reset", l.Window > 0); err != nil {
		return m, err
	}
	if m.Before, err = b.usage(false); err != nil {
		return m, err
	}
	if m.Published, err = child.Call[Published](b.server, "Server.Publish", l); err != nil {
		return m, err
	}
	expect := readers.Expect{Count: []int{m.Count}, Sum: []uint64{m.Sum}, Wait: time.Second}
	if m.Report, err = child.Call[readers.Report](b.clients, "Readers.Wait", expect); err != nil {
		return m, err
	}
	if m.After, err = b.usage(false); err != nil {
		return m, err
	}
	m.Took = m.Last.Sub(m.Begin)
	m.CPU, m.User = m.After.CPU()-m.Before.CPU(), m.After.User-m.Before.User
	return m, nil
}

// watch reports what comes to the readers for a while, of what is published
// already.
func (b *bout) watch(while time.Duration) (r readers.Report, err error) {
	if _, err = child.Call[struct{}](b.clients, "Readers.Reset", false); err != nil {
		return r, err
	}
	time.Sleep(while)
	return child.Call[readers.Report](b.clients, "Readers.Wait", readers.Expect{Count: []int{0}, Sum: []uint64{0}})
}

// faults says what went wrong, or nothing.
func (m measured) faults() string {
	s := ""
	add := func(n int, what string) {
		if n > 0 {
			s += fmt.Sprintf(" %d %s,", n, what)
		}
	}
	add(m.Missing, "missing")
	add(m.Extra, "too many")
	add(m.Wrong, "readers wrong")
	add(m.Ended, "readers cut")
	if m.Stuck {
		s += " publisher stuck,"
	}
	if s == "" {
		return ""
	}
	return s[1 : len(s)-1]
}
