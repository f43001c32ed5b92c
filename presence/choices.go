package presence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
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
	statusWorkers = 8 // calls of Config.Status at once
)

func newStatuses(forgotten func(int)) statuses {
	return statuses{
		known:   newRecollection[UserID, choice](maxStatuses, forgotten),
		waiting: make(map[UserID][]func(Status)),
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
	if s.queued >= t.cfg.Pending {
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
		users := t.statuses.first(maxAsked)
		t.statuses.asking = len(users) > 0
		t.mu.Unlock()
		if len(users) == 0 {
			return
		}
		chosen, err := t.choices(ctx, users)
		var failed []UserID
		t.mu.Lock()
		for _, user := range users {
			status, ok := chosen[user]
			switch _, waits := t.statuses.waiting[user]; {
			case !waits: // a notice was faster
			case ok:
				t.learn(user, choice{Status: status})
			default:
				failed = append(failed, user)
			}
		}
		t.mu.Unlock()
		if len(failed) > 0 {
			t.tellOfStatuses(err)
			t.spawn(func(ctx context.Context) {
				if wait(ctx, statusRetry/2+rand.N(statusRetry)) {
					t.askAgain(failed)
				}
			})
		}
	}
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

// choices returns what users chose: of all of them, or of those whose choice could
// be learnt and an error.
func (t *Tracker) choices(ctx context.Context, users []UserID) (map[UserID]Status, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	kept, err := t.store.Statuses(ctx, users...)
	if err != nil {
		return nil, err
	}
	if len(kept) != len(users) {
		return nil, fmt.Errorf("the store answers for %d users of %d", len(kept), len(users))
	}
	chosen := make(map[UserID]Status, len(users))
	if t.cfg.Status == nil {
		for i, user := range users {
			chosen[user] = kept[i]
		}
		return chosen, nil
	}
	var (
		mu      sync.Mutex
		errs    []error
		working sync.WaitGroup
		slots   = make(chan struct{}, statusWorkers)
	)
	for i, user := range users {
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			status, err := t.ownStatus(ctx, user)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			chosen[user] = cmp.Or(status, kept[i])
		})
	}
	working.Wait()
	return chosen, errors.Join(errs...)
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
	if errors.Is(err, ErrStoreOut) || t.cfg.Status == nil || t.life.Err() != nil {
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
		t.cfg.Logger.Warn("presence: Config.Status failed; users are not announced until it answers",
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
