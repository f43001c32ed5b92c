package track

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// A node works on few erasures at a time, and fewer passes run at once, so that erasures do not take
// the store from all others. Further erasures wait in the list, in their order, where any node may
// take them:
//
//	Erase ── there is room, and nobody waits ──► work, at most maxErasures ──► maxPasses at a time
//	  └───── else ──► the list ──► claim ────────▲
//
// One erasure of a user is worked on at a time, so that nobody who repeats theirs takes the room of
// others. A repeated one waits in the list until that is over, and those that come meanwhile join it.
const (
	maxErasures = 32
	maxPasses   = 4
)

// erasureTurns decides which erasures may be worked on.
type erasureTurns struct {
	mu      sync.Mutex // taken with no other mutex held
	working int
	waiting bool // the list may have more erasures than this node claimed
	users   map[presence.UserID]*userTurns
	woken   wait.Wakeup
	passes  chan struct{}
}

// userTurns are the turns of one user's erasures.
type userTurns struct {
	working int
	listed  time.Time // when the latest erasure was put into the list
	again   time.Time // the waiting erasure is not started before this
}

func newErasureTurns() *erasureTurns {
	return &erasureTurns{users: make(map[presence.UserID]*userTurns), woken: wait.NewWakeup(), passes: make(chan struct{}, maxPasses)}
}

// A turn says what happens with a new erasure.
type turn int

const (
	turnNow   turn = iota // it is worked on at once
	turnLater             // it waits in the list
	turnAgain             // it waits until another erasure of the user is over
	turnJoins             // an erasure of the user waits already, and covers this one
)

// enter returns the turn of a new erasure. It is worked on at once only if no other erasure waits.
func (t *erasureTurns) enter(user presence.UserID) turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.users, func(_ presence.UserID, u *userTurns) bool {
		return u.working == 0 && time.Since(u.listed) > erasureHold
	})
	switch u := t.users[user]; {
	case u != nil && time.Now().Before(u.again):
		return turnJoins
	case u != nil:
		return turnAgain
	case t.waiting || t.working >= maxErasures:
		t.users[user] = &userTurns{listed: time.Now()}
		return turnLater
	}
	t.working++
	t.workLocked(user)
	return turnNow
}

// join makes further erasures of a user join the one that was put into the list at a moment, if no node works
// on it for erasureHold.
func (t *erasureTurns) join(user presence.UserID, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u := t.users[user]; u != nil {
		u.listed, u.again = at, at.Add(erasureHold)
	}
}

// work notes that an erasure of a user is worked on.
func (t *erasureTurns) work(user presence.UserID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.workLocked(user)
}

func (t *erasureTurns) workLocked(user presence.UserID) {
	if t.users[user] == nil {
		t.users[user] = new(userTurns)
	}
	t.users[user].working++
}

// leave ends the work on an erasure.
func (t *erasureTurns) leave(user presence.UserID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[user].working--
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
			x.turns.work(e.User)
			if !x.life.spawn(func(ctx context.Context) { x.work(ctx, e, func() {}) }) {
				return
			}
		}
	}
}
