package handlers

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// ChangeSettings changes a user's settings, for forms of the site's own: change gets what the
// user chose before, and an error of change is returned. The site must have checked that the
// user is the one who asks. It counts as a change of the user's status, by
// [Config.MaxRate], and waits for a change of the same user that is under way here, so
// that none is lost. It costs what [track.People.ChangeSettings] costs, takes 6 s at most
// also if ctx ends before, and may be called concurrently.
//
// The errors are [ErrTooManyStatuses], [presence.ErrInvalidUser], and those of
// [track.People.ChangeSettings], which has no rate.
func (h *Handler) ChangeSettings(ctx context.Context, user presence.UserID, change func(*presence.Settings) error) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	if !h.cfg.people {
		return presence.ErrNoDirectory
	}
	err := h.rated(ctx, user, &h.limits.statuses, change)
	if errors.Is(err, ErrTooManyStatuses) {
		h.counters.limited.Add(1)
	}
	return err
}

// change replaces what a request names of a user's settings.
func (h *Handler) change(ctx context.Context, user presence.UserID, c settingsChange) error {
	rate := &h.limits.audiences
	if c.ofStatus() {
		rate = &h.limits.statuses
	}
	return h.rated(ctx, user, rate, func(s *presence.Settings) error {
		*s = c.apply(*s, time.Now())
		return nil
	})
}

// rated changes a user's settings if the user has not done so too often. Changes of one user
// follow one another.
func (h *Handler) rated(ctx context.Context, user presence.UserID, rate *meter[presence.UserID], change func(*presence.Settings) error) error {
	user = presence.UserID(strings.Clone(string(user))) // else the tracker would keep the whole request in memory
	if !rate.take(user, time.Now()) {
		return ErrTooManyStatuses
	}
	ctx, cancel := changeContext(ctx)
	defer cancel()
	unlock, err := h.changing.lock(ctx, user)
	if err != nil {
		return err
	}
	defer unlock()
	return h.tracker.People().ChangeSettings(ctx, user, change)
}

// changeWait is how long a change of settings may take: it reads the Directory, writes it,
// and tells the nodes.
const changeWait = 3 * storeWait

// changeContext returns the context of a change. It does not end with the request: a client
// that goes away must not leave a change that the Directory has and the nodes have not.
func changeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), changeWait)
}

// userLocks has a lock for each user of whom something is being changed. The zero value has
// none.
type userLocks struct {
	mu   sync.Mutex
	held map[presence.UserID]*userLock
}

type userLock struct {
	turn    wait.Mutex
	callers int // who hold it or wait for it; userLocks.mu guards it
}

// lock waits for a user's lock, and returns the function that gives it back. It returns the
// error of ctx if that ends before.
func (l *userLocks) lock(ctx context.Context, user presence.UserID) (unlock func(), err error) {
	l.mu.Lock()
	one := l.held[user]
	if one == nil {
		if l.held == nil {
			l.held = make(map[presence.UserID]*userLock)
		}
		one = &userLock{turn: wait.NewMutex()}
		l.held[user] = one
	}
	one.callers++
	l.mu.Unlock()
	if err := one.turn.Lock(ctx); err != nil {
		l.leave(user, one)
		return nil, err
	}
	return func() { one.turn.Unlock(); l.leave(user, one) }, nil
}

// leave forgets a lock after its last caller.
func (l *userLocks) leave(user presence.UserID, one *userLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.callers--; one.callers == 0 {
		delete(l.held, user)
	}
}
