package simtest_test

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A process is paused as by SIGSTOP, and then goes on as if nothing had been. No goroutine of a
// bubble can be stopped, so that this is what others see of it: its calls to the store wait until
// it goes on, where writes whose time is over change nothing (rule 4), and it hears nothing; its pages get nothing, and
// nobody gets through to it. This leaves out that its timers wait too: what it does by itself
// and without the store, it does in time. Its way to the database of an inbox stays open.

// pauseActs returns when processes are paused.
func (g game) pauseActs(rnd *rand.Rand, length time.Duration) (acts []act) {
	for range 1 + rnd.IntN(3) {
		d := 100*time.Millisecond + upTo(rnd, g.ttl()/4)
		if rnd.IntN(2) == 0 { // others may see its users leave
			d = upTo(rnd, 2*g.ttl()+nodeTTL)
		}
		acts = append(acts, act{at: upTo(rnd, length), do: "pause", who: rnd.IntN(g.nodes), d: d})
	}
	return acts
}

// pause pauses a node's process for a while.
func (w *world) pause(node int, d time.Duration) {
	p := w.at(node)
	if p == nil {
		return
	}
	do := "pause"
	if d > w.game.harmless() { // others may see its users leave
		do = "node cut off"
	}
	p.link.pause()
	p.fail("paused", presencetest.Fault{})
	w.fails(do, func() {
		time.Sleep(d)
		p.goOn()
	})
}

// goOn ends a pause.
func (p *process) goOn() {
	if p.link.goOn() {
		p.heal("paused")
	}
}

// awake waits until the process is not paused, and returns how long that took.
func (p *process) awake(ctx context.Context) time.Duration {
	began := time.Now()
	if paused := p.link.pausedNow(); paused != nil {
		select {
		case <-paused:
		case <-p.dead:
		case <-ctx.Done():
		}
	}
	return time.Since(began)
}

func (l *link) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused == nil {
		l.paused = make(chan struct{})
	}
}

func (l *link) goOn() (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was = l.paused != nil; was {
		close(l.paused)
		l.paused = nil
	}
	return was
}

// pausedNow returns a channel that is closed once the process goes on; nil if it is not paused.
func (l *link) pausedNow() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}
