package track

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A node works on few erasures at a time, and fewer passes run at once, so that erasures do not take
// the store from all others. Further erasures wait in the list, in their order, where any node may
// take them:
//
//	Erase ── there is room, and nobody waits ──► work, at most maxErasures ──► maxPasses at a time
//	  └───── else ──► the list ──► claim ────────▲
//
// A node works on one erasure of a user at a time, so that nobody who repeats theirs takes the room of
// others. A repeated one takes the place of the other one in the list, for when that is over.
const (
	maxErasures = 32
	maxPasses   = 4
)

// erasureTurns decides which erasures may be worked on.
type erasureTurns struct {
	mu      sync.Mutex // taken with no other mutex held
	working int
	waiting bool                    // the list may have more erasures than this node claimed
	users   map[presence.UserID]int // how many erasures of each user are worked on
	woken   wait.Wakeup
	passes  chan struct{}
}

func newErasureTurns() *erasureTurns {
	return &erasureTurns{users: make(map[presence.UserID]int), woken: wait.NewWakeup(), passes: make(chan struct{}, maxPasses)}
}

// enter reports whether a new erasure is worked on at once, and otherwise for how long nobody may claim it: another erasure
// of the user is worked on.
func (t *erasureTurns) enter(user presence.UserID) (now bool, hold time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.users[user] > 0:
		return false, erasureHold
	case t.waiting || t.working >= maxErasures:
		return false, 0
	}
	t.working++
	t.users[user]++
	return true, erasureHold
}

// work notes that an erasure of a user is worked on.
func (t *erasureTurns) work(user presence.UserID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[user]++
}

// leave ends the work on an erasure.
func (t *erasureTurns) leave(user presence.UserID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[user]--; t.users[user] == 0 {
		delete(t.users, user)
	}
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

// takeRoom takes all free places for erasures.
func (t *erasureTurns) takeRoom() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = maxErasures - t.working
	t.working, t.waiting = maxErasures, t.waiting && n == 0
	return n
}

// claimed returns the places for which there was no erasure.
func (t *erasureTurns) claimed(room, taken int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working -= room - taken
	t.waiting = t.waiting || taken == room
}

// pass runs fn while few others run. It returns false if ctx ended before.
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

// told is for when the store's list has an erasure that can be claimed.
func (x *eraser) told() {
	if x.inStore() {
		x.turns.woken.Wake()
	}
}

func (x *eraser) inStore() bool { return x.list == backend.ErasureList(x.store) }

// run does the erasures that wait in the list, until ctx ends. Polls tell of those in the store's list.
func (x *eraser) run(ctx context.Context) {
	every := erasureEvery
	if x.inStore() {
		every = time.Minute
	}
	for wait.Until(ctx, x.turns.woken, every) {
		room := x.turns.takeRoom()
		if room == 0 {
			continue
		}
		try, cancel := context.WithTimeout(ctx, erasureWait)
		claimed, _ := x.list.ClaimErasures(try, room, erasureHold)
		cancel()
		x.turns.claimed(room, len(claimed))
		for _, e := range claimed {
			x.turns.work(e.User)
			if !x.life.spawn(func(ctx context.Context) { x.work(ctx, e, func() {}) }) {
				return
			}
		}
	}
}
