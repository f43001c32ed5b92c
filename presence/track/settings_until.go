package track

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// untils ends statuses that were chosen until a time (rule P7). It keeps the times of the users whose choices
// this node knows, and calls ended for a user when the time has come. Every node does so by itself, without a
// request or a notice, so all nodes end a status at the same time. A status that ended while no node knew it
// needs no action: [presence.Settings.At] leaves it out.
//
// One goroutine runs while an end is known, and looks once a second.
type untils struct {
	life  *lifetime
	ended func(presence.UserID) // called without a mutex held

	mu      untilsMutex
	ends    *generations.Map[presence.UserID, time.Time]
	next    time.Time // the earliest end, or an earlier moment; zero: there is none
	running bool      // the goroutine runs
}

// untilsPause is the time between two looks, and so the most by which an end is late.
const untilsPause = time.Second

func newUntils(life *lifetime, ended func(presence.UserID), forgotten func(int)) *untils {
	return &untils{life: life, ended: ended, ends: generations.New[presence.UserID, time.Time](maxUsersKnown, forgotten)}
}

// set notes when a user's status ends, and replaces the previous time. The zero time means never. It may be
// called with users.mu held.
func (u *untils) set(user presence.UserID, until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if until.IsZero() {
		u.ends.Delete(user)
		return
	}
	u.ends.Set(presence.UserID(strings.Clone(string(user))), until)
	if u.next.IsZero() || until.Before(u.next) {
		u.next = until
	}
	if !u.running {
		u.running = u.life.spawn(u.run)
	}
}

// end returns when the status ends; zero if it does not, or has ended.
func (s *chosenSettings) end() time.Time {
	if s.Until.After(time.Now()) {
		return s.Until
	}
	return time.Time{}
}

// run ends statuses until no end is known.
func (u *untils) run(ctx context.Context) {
	for more := true; more && wait.For(ctx, untilsPause); {
		var over []presence.UserID
		over, more = u.due()
		for _, user := range over {
			u.ended(user)
		}
	}
}

// due removes and returns the users whose status has ended. more reports whether other ends are known.
func (u *untils) due() (over []presence.UserID, more bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if now.Before(u.next) {
		return nil, true
	}
	u.next = time.Time{}
	for user, until := range u.ends.All() {
		switch {
		case !until.After(now):
			over = append(over, user)
			u.ends.Delete(user)
		case u.next.IsZero() || until.Before(u.next):
			u.next = until
		}
	}
	u.running = !u.next.IsZero()
	return over, u.running
}
