package simtest_test

import (
	"context"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// A stream is what a page reads: a track.Connection, or a wire.
type stream interface {
	Ready() <-chan struct{}
	Events([]presence.Event) []presence.Event
	Done() <-chan struct{}
	Err() error
	Token() presence.Token
	Close()
}

// A wire is a stream that comes over HTTP. A goroutine reads it.
type wire struct {
	cancel context.CancelFunc
	ready  chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	events []presence.Event
	err    error
	token  presence.Token
}

func newWire(cancel context.CancelFunc) *wire {
	return &wire{cancel: cancel, ready: make(chan struct{}, 1), done: make(chan struct{})}
}

func (s *wire) Ready() <-chan struct{} { return s.ready }
func (s *wire) Done() <-chan struct{}  { return s.done }
func (s *wire) Close()                 { s.cancel() }

func (s *wire) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *wire) Token() presence.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

func (s *wire) Events(buf []presence.Event) []presence.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf = append(buf, s.events...)
	s.events = nil
	return buf
}

// take is for the reader: an event has come.
func (s *wire) take(e presence.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// welcome is for the reader: the server has named the connection.
func (s *wire) welcome(token presence.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// over is for the reader: nothing comes any more.
func (s *wire) over(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.done)
}
