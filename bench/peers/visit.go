package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A visit is a page that a user looks at, from its opening until the user closes it. If the
// server ends its connection, the page finds a node again, as a browser does. The user is there
// all the time.
type visit struct {
	stage *stage
	user  string
	node  int
	front *proxy // nil: the page connects to the node itself

	in     chan struct{} // closed once the page was connected for the first time
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	silent bool // the client vanished, so its socket stays
}

// openTime is how long a page waits for an answer before it tries again.
const openTime = 10 * time.Second

// come opens a page for a user on a node. It does not wait until the page is connected.
func (s *stage) come(user string, node int) *visit { return s.comeThrough(user, node, nil) }

func (s *stage) comeThrough(user string, node int, front *proxy) *visit {
	ctx, cancel := context.WithCancel(s.ctx)
	v := &visit{stage: s, user: user, node: node, front: front, in: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	s.present(user, 1)
	s.visits.Go(func() {
		defer close(v.done)
		v.stay(ctx)
	})
	return v
}

// stay keeps the page connected.
func (v *visit) stay(ctx context.Context) {
	s, connected := v.stage, false
	for first := true; ctx.Err() == nil; first = false {
		if !first && !pause(ctx, 200*time.Millisecond+rand.N(1300*time.Millisecond)) {
			return
		}
		node := s.balance(v.node)
		addr := s.fleet.addr(node)
		if v.front != nil {
			addr = v.front.address()
		}
		opening, cancel := context.WithTimeout(ctx, openTime)
		t, err := s.fleet.open(opening, addr, v.user)
		cancel()
		if err != nil {
			continue
		}
		if !connected {
			connected = true
			close(v.in)
		}
		select {
		case <-t.gone():
		case <-ctx.Done():
			v.mu.Lock()
			silent := v.silent
			v.mu.Unlock()
			if silent {
				<-s.ctx.Done()
			}
		}
		t.close()
	}
}

// leave closes the page, and waits until its socket is closed.
func (v *visit) leave() {
	v.stage.present(v.user, -1)
	v.cancel()
	<-v.done
}

// vanish lets the client fall silent: its connections stay, and nothing passes.
func (v *visit) vanish() {
	v.mu.Lock()
	v.silent = true
	v.mu.Unlock()
	v.front.freeze()
	v.stage.present(v.user, -1)
	v.cancel()
}

// pause waits, and reports false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
