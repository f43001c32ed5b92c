package presence

import (
	"context"
	"sync"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A node works on few erasures at a time, and fewer passes run at once, so that erasures do not take
// the store from all others. Further erasures wait in the list, in their order, where any node may
// take them:
//
//	Erase ── there is room, and nobody waits ──► work, at most maxErasures ──► maxPasses at a time
//	  └───── else ──► the list ──► claim ────────▲
const (
	maxErasures = 32
	maxPasses   = 4
)

// erasureTurns is who may work.
type erasureTurns struct {
	mu      sync.Mutex // taken with no other mutex held
	working int
	waiting bool // the list may have more than this node claimed
	woken   wait.Wakeup
	passes  chan struct{}
}

func newErasureTurns() *erasureTurns {
	return &erasureTurns{woken: wait.NewWakeup(), passes: make(chan struct{}, maxPasses)}
}

// enter reports whether a new erasure may be worked on at once: not before those that wait.
func (t *erasureTurns) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting || t.working >= maxErasures {
		return false
	}
	t.working++
	return true
}

// leave ends the work on an erasure.
func (t *erasureTurns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.working--; t.waiting {
		t.woken.Wake()
	}
}

// wait notes that an erasure waits in the list.
func (t *erasureTurns) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = true
	t.woken.Wake()
}

// takeRoom takes all the room that there is.
func (t *erasureTurns) takeRoom() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = maxErasures - t.working
	t.working, t.waiting = maxErasures, t.waiting && n == 0
	return n
}

// claimed gives back the room that is not taken after all.
func (t *erasureTurns) claimed(room, taken int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working -= room - taken
	t.waiting = t.waiting || taken == room
}

// pass runs fn, with few others at a time. It returns false if ctx ended before.
func (t *erasureTurns) pass(ctx context.Context, fn func()) bool {
	select {
	case t.passes <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-t.passes }()
	fn()
	return true
}

// run does the erasures that wait in the list, until ctx ends.
func (x *eraser) run(ctx context.Context) {
	for wait.Until(ctx, x.turns.woken, erasureEvery) {
		room := x.turns.takeRoom()
		if room == 0 {
			continue
		}
		try, cancel := context.WithTimeout(ctx, erasureWait)
		claimed, _ := x.list.ClaimErasures(try, room, erasureHold)
		cancel()
		x.turns.claimed(room, len(claimed))
		for _, e := range claimed {
			if !x.life.spawn(func(ctx context.Context) { x.work(ctx, e, func() {}) }) {
				return
			}
		}
	}
}
