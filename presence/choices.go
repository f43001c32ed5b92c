package presence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// A user who chose to be invisible must not be announced by a node that does not
// know it yet. So a node announces a user only once the user's choice is known: from
// its own memory, or else from the site's table (Config.Status) or the store.

// statuses are the choices of users, as far as this node knows. The tracker's mutex
// guards them.
type statuses struct {
	known   *recollection[UserID, choice]
	waiting map[UserID][]func(Status) // what to do once a choice is known, in order
	order   []UserID                  // who are to be asked about, the first to come first
	queued  int                       // in waiting
	asking  bool                      // a goroutine asks for those that wait
	failed  time.Time                 // when a failure was last logged

	askAfter time.Time     // the store may have lost choices, which nodes tell again until then
	slots    chan struct{} // calls of Config.Status under way
}

// A choice is the status that a user chose: "" if none is known to anybody. It is
// zero at a time that is unknown, because the store or the site told it.
type choice struct {
	Status
	at time.Time
}

const (
	maxStatuses   = 100_000 // choices that a node remembers
	maxAsked      = 500     // users whose choices are asked for at once
	statusWait    = 2 * time.Second
	statusRetry   = 500 * time.Millisecond
	statusWorkers = 32 // calls of Config.Status at once, those that hang among them
)

func newStatuses(forgotten func(int)) statuses {
	return statuses{
		known:   newRecollection[UserID, choice](maxStatuses, forgotten),
		waiting: make(map[UserID][]func(Status)),
		slots:   make(chan struct{}, statusWorkers),
	}
}

// asNow calls add with the user as others are to see the user: with the status that
// the site names, or else with the one that the user chose. If that is not known yet,
// add is called once it is. Calls for one user keep their order. add is called under
// the tracker's mutex, so that a status that is set later is also written later.
func (t *Tracker) asNow(user User, add func(User)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now, known := t.asChosenLocked(user); known {
		add(now)
	} else {
		t.awaitChoiceLocked(user, add)
	}
}

// asChosenLocked returns a user as others are to see the user, and false if the
// user's choice is not known yet. The caller holds mu.
func (t *Tracker) asChosenLocked(user User) (now User, known bool) {
	if user.Status != "" {
		return user, true
	}
	chosen, known := t.statuses.known.get(user.ID)
	return user.as(chosen.Status), known
}

// as returns the user with the status that the user chose, "" if none.
func (u User) as(chosen Status) User {
	if u.Status = chosen; chosen == "" && u.Veiled {
		u.Status = Invisible
	}
	return u
}

// awaitChoiceLocked calls add once the user's choice is known. The caller holds mu.
func (t *Tracker) awaitChoiceLocked(user User, add func(User)) {
	s := &t.statuses
	if s.queued >= t.cfg.MaxPending {
		t.stats.dropped.Add(1)
		return
	}
	if len(s.waiting[user.ID]) == 0 {
		s.order = append(s.order, user.ID)
	}
	s.waiting[user.ID] = append(s.waiting[user.ID], func(chosen Status) { add(user.as(chosen)) })
	s.queued++
	t.askLocked()
}

// learn takes a choice, and does what waited for it. The caller holds mu.
func (t *Tracker) learn(user UserID, c choice) {
	s := &t.statuses
	s.known.set(user, c)
	waiting := s.waiting[user]
	delete(s.waiting, user)
	s.queued -= len(waiting)
	for _, then := range waiting {
		then(c.Status)
	}
}

// askStatuses asks for the choices that are waited for, until nobody waits who was
// not asked about. Users whose choice could not be learnt are asked about again
// later, and hold up nobody else.
func (t *Tracker) askStatuses(ctx context.Context) {
	for {
		t.mu.Lock()
		early := time.Until(t.statuses.askAfter)
		t.mu.Unlock()
		if early > 0 && !wait(ctx, early) {
			return
		}
		t.mu.Lock()
		users := t.statuses.first(maxAsked)
		t.statuses.asking = len(users) > 0
		t.mu.Unlock()
		if len(users) == 0 {
			return
		}
		kept, err := t.keptStatuses(ctx, users)
		switch {
		case err != nil:
			t.askLater(users, err)
		case t.cfg.Status == nil:
			t.mu.Lock()
			for i, user := range users {
				t.learnt(user, kept[i])
			}
			t.mu.Unlock()
		default:
			for i, user := range users {
				t.spawn(func(ctx context.Context) { t.askSite(ctx, user, kept[i]) })
			}
		}
	}
}

// learnt takes the answer to a question. The caller holds mu.
func (t *Tracker) learnt(user UserID, status Status) {
	if _, waits := t.statuses.waiting[user]; waits { // else a notice was faster
		t.learn(user, choice{Status: status})
	}
}

// keptStatuses asks the store what users chose.
func (t *Tracker) keptStatuses(ctx context.Context, users []UserID) ([]Status, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	kept, err := t.store.Statuses(ctx, users...)
	if err == nil && len(kept) != len(users) {
		err = fmt.Errorf("the store answers for %d users of %d", len(kept), len(users))
	}
	return kept, err
}

// askSite asks the site's table for one user's choice; kept is what the store has. A
// call that does not return in time is left alone, and takes a slot until it does.
func (t *Tracker) askSite(ctx context.Context, user UserID, kept Status) {
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	type answer struct {
		Status
		err error
	}
	answered := make(chan answer, 1)
	select {
	case t.statuses.slots <- struct{}{}:
		go func() {
			defer func() { <-t.statuses.slots }()
			status, err := t.ownStatus(ctx, user)
			answered <- answer{status, err}
		}()
	case <-ctx.Done():
		t.askLater([]UserID{user}, errors.New("too many calls of Config.Status do not return"))
		return
	}
	a := answer{err: context.DeadlineExceeded}
	select {
	case a = <-answered:
	case <-ctx.Done():
	}
	if a.err != nil {
		t.askLater([]UserID{user}, a.err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.learnt(user, cmp.Or(a.Status, kept))
}

// askLater logs why users wait to be announced, and has them asked about again.
func (t *Tracker) askLater(users []UserID, err error) {
	t.tellOfStatuses(err)
	t.spawn(func(ctx context.Context) {
		if wait(ctx, statusRetry/2+rand.N(statusRetry)) {
			t.askAgain(users)
		}
	})
}

// askAgain has users asked about once more.
func (t *Tracker) askAgain(users []UserID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.statuses.order = append(t.statuses.order, users...)
	t.askLocked()
}

// askLocked starts the goroutine that asks, unless it runs. The caller holds mu.
func (t *Tracker) askLocked() {
	if !t.statuses.asking {
		t.statuses.asking = true
		t.spawn(t.askStatuses)
	}
}

// first takes up to n users who wait to be asked about, the first to come first.
func (s *statuses) first(n int) (users []UserID) {
	for len(s.order) > 0 && len(users) < n {
		if user := s.order[0]; len(s.waiting[user]) > 0 {
			users = append(users, user)
		}
		s.order = s.order[1:]
	}
	return users
}

// ownStatus asks the site's table. A panic of the site's is an error.
func (t *Tracker) ownStatus(ctx context.Context, user UserID) (status Status, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Config.Status panicked: %v", p)
		}
	}()
	status, err = t.cfg.Status(ctx, user)
	if err == nil && status != "" {
		_, err = ParseStatus(string(status))
	}
	return status, err
}

// tellOfStatuses logs, once a minute, that users wait to be announced. A store that
// is out has a line of its own.
func (t *Tracker) tellOfStatuses(err error) {
	if t.writer.isOut() || errors.Is(err, ErrStoreOut) || t.life.Err() != nil {
		return
	}
	t.mu.Lock()
	due := time.Since(t.statuses.failed) >= time.Minute
	if due {
		t.statuses.failed = time.Now()
	}
	users := len(t.statuses.waiting)
	t.mu.Unlock()
	if due {
		t.cfg.Logger.Warn("presence: nobody can tell what users chose, in Config.Status or the store; they are not announced until that is known",
			slog.Any("error", err), slog.Int("users", users))
	}
}

// awaitStatuses waits until nobody waits to be announced, for a second at most, so
// that a node that stops writes its last page views.
func (t *Tracker) awaitStatuses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for !t.writer.isOut() {
		t.mu.Lock()
		queued := t.statuses.queued
		t.mu.Unlock()
		if queued == 0 || !wait(ctx, time.Millisecond) {
			return
		}
	}
}
