package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
	"github.com/rollcall-go/rollcall/bench/internal/peers"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
)

// A server is the process of one peer. Its methods are called over net/rpc.
type server struct {
	acks     *os.File
	peer     peers.Server
	done     atomic.Int64  // changes that were published since the process began
	acked    atomic.Int64  // what the slowest reader has, since the readers' last reset
	news     chan struct{} // acked changed
	listener net.Listener
}

func newServer(acks *os.File) *server {
	s := &server{acks: acks, news: make(chan struct{}, 1)}
	go s.readAcks()
	return s
}

func (s *server) readAcks() {
	b := make([]byte, 8)
	for {
		if _, err := io.ReadFull(s.acks, b); err != nil {
			return
		}
		s.acked.Store(int64(binary.LittleEndian.Uint64(b)))
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
}

// Begin says which peer the process is.
type Begin struct {
	Peer    string
	Options peers.Options
}

// Listen makes the server, and returns where it listens.
func (s *server) Listen(b Begin, addr *string) error {
	p, ok := peers.Find(b.Peer)
	if !ok {
		return errors.New("there is no peer " + b.Peer)
	}
	var err error
	if s.peer, err = p.New(b.Options); err != nil {
		return err
	}
	if s.listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return err
	}
	go s.peer.Serve(s.listener)
	*addr = s.listener.Addr().String()
	return nil
}

// Load is how changes come.
type Load struct {
	Window int     // keep so many outstanding with the slowest reader; 0: paced
	Rate   float64 // changes a second, where paced
	For    time.Duration
}

// A Published is what was published.
type Published struct {
	Count int
	Sum   uint64
	Stuck bool // a call to publish did not return in time
	Begin time.Time
}

// Publish publishes for a while. Readers were reset just before.
func (s *server) Publish(l Load, p *Published) error {
	first := int(s.done.Load())
	s.acked.Store(0)
	p.Begin = time.Now()
	end := p.Begin.Add(l.For)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if l.Window > 0 {
			s.window(first, l.Window, end)
		} else {
			s.pace(first, l.Rate, end)
		}
	}()
	select {
	case <-ended:
	case <-time.After(time.Until(end) + 500*time.Millisecond):
		p.Stuck = true
	}
	last := int(s.done.Load())
	p.Count, p.Sum = last-first, diff.Sum(first, last)
	return nil
}

func (s *server) window(first, most int, end time.Time) {
	over := time.After(time.Until(end))
	for n := first; time.Now().Before(end); {
		free := first + int(s.acked.Load()) + most - n
		if free <= 0 {
			select {
			case <-s.news:
			case <-over:
			}
			continue
		}
		s.peer.Publish(n, n+free)
		n += free
		s.done.Store(int64(n))
	}
}

// mostAtOnce bounds what is published in one call where a server cannot keep pace.
const mostAtOnce = 16

func (s *server) pace(first int, rate float64, end time.Time) {
	step := time.Duration(float64(time.Second) / rate)
	next := time.Now()
	for n := first; next.Before(end); {
		time.Sleep(time.Until(next))
		due := min(1+int(time.Since(next)/step), mostAtOnce)
		s.peer.Publish(n, n+due)
		n += due
		next = next.Add(time.Duration(due) * step)
		s.done.Store(int64(n))
	}
}

// Usage reports what the process uses, with the peer's own figures.
func (s *server) Usage(collect bool, u *usage.Usage) (err error) {
	*u, err = usage.Now(collect)
	if s.peer != nil {
		u.Stats = s.peer.Stats()
	}
	return err
}
