package templates

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// maxPageWait is how long a page waits for the store and the Directory in all: for
	// topics that are not in memory, for last seen, and for people.
	maxPageWait = 50 * time.Millisecond
	// maxOwnWait is how long a page waits in all for what only the Directory has, and the
	// page is about: the visitor's contacts, devices, settings and notifications. An empty list of contacts
	// would be wrong, where a dot without a colour is only late.
	maxOwnWait = 500 * time.Millisecond
	// noWait is how long other pages do not wait after one page has waited in vain. A
	// store that hangs counts as out only once its first calls fail.
	noWait = time.Second
)

// patience is how long a page goes on waiting, for the store and for the site's Directory
// together.
type patience struct {
	left  time.Duration
	begun bool
}

// A hanging says when a page last waited in vain for something.
type hanging struct{ at atomic.Int64 } // Unix nanoseconds

// lately reports whether that is so short ago that no page waits for it again.
func (h *hanging) lately(now time.Time) bool { return now.UnixNano()-h.at.Load() < int64(noWait) }

// ask calls fn, which asks the store, and returns its error. The context of fn ends when the
// page stops waiting. It may have ended before: fn then takes what is in memory.
func (p *Page) ask(fn func(ctx context.Context) error) error {
	return p.askOf(&p.widgets.storeHangs, fn)
}

// askPeople is ask for a fn that asks the site's Directory. One of the two that hangs does
// not keep pages from waiting for the other.
func (p *Page) askPeople(fn func(ctx context.Context) error) error {
	return p.askOf(&p.widgets.directoryHangs, fn)
}

// askOwn is askPeople for what belongs to the visitor, and has a patience of its own.
func (p *Page) askOwn(fn func(ctx context.Context) error) error {
	return p.askWithin(&p.ownWait, maxOwnWait, &p.widgets.ownHangs, fn)
}

func (p *Page) askOf(of *hanging, fn func(ctx context.Context) error) error {
	return p.askWithin(&p.wait, maxPageWait, of, fn)
}

func (p *Page) askWithin(left *patience, most time.Duration, of *hanging, fn func(ctx context.Context) error) error {
	began := time.Now()
	if !left.begun {
		left.begun, left.left = true, most
	}
	wait := left.left
	if of.lately(began) {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(p.request.Context(), wait)
	defer cancel()
	err := fn(ctx)
	// A store that is only slow answers one question of a page in time: a second question
	// that finds little time left does not count. Nor does a visitor who went away.
	if err != nil && wait > most/2 && ctx.Err() == context.DeadlineExceeded {
		of.at.Store(time.Now().UnixNano())
	}
	left.left -= time.Since(began)
	return err
}

// waits reports whether the page still waits for the store.
func (p *Page) waits() bool {
	return !p.wait.begun || p.wait.left > 0 && !p.widgets.storeHangs.lately(time.Now())
}
