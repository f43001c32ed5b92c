package templates

import (
	"context"
	"net/http"
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

// hangs says of each source when a page last waited in vain for it. So one that hangs does not
// keep pages from waiting for the others.
type hangs struct{ store, directory, own, feeds, inbox hanging }

// An asker asks for one page, which waits for a short time in all.
type asker struct {
	request *http.Request
	hangs   *hangs // of all pages
	wait    patience
	ownWait patience // for the visitor's own contacts, devices, settings and notifications
}

// ask calls fn, which asks the store, and returns its error. The context of fn ends when the
// page stops waiting. It may have ended before: fn then takes what is in memory.
func (a *asker) ask(fn func(ctx context.Context) error) error {
	return a.askOf(&a.hangs.store, fn)
}

// askPeople is ask for a fn that asks the site's Directory.
func (a *asker) askPeople(fn func(ctx context.Context) error) error {
	return a.askOf(&a.hangs.directory, fn)
}

// askOwn is askPeople for what belongs to the visitor, and has a patience of its own.
func (a *asker) askOwn(fn func(ctx context.Context) error) error {
	return a.askWithin(&a.ownWait, maxOwnWait, &a.hangs.own, fn)
}

func (a *asker) askOf(of *hanging, fn func(ctx context.Context) error) error {
	return a.askWithin(&a.wait, maxPageWait, of, fn)
}

func (a *asker) askWithin(left *patience, most time.Duration, of *hanging, fn func(ctx context.Context) error) error {
	began := time.Now()
	if !left.begun {
		left.begun, left.left = true, most
	}
	wait := left.left
	if of.lately(began) {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(a.request.Context(), wait)
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
func (a *asker) waits() bool {
	return !a.wait.begun || a.wait.left > 0 && !a.hangs.store.lately(time.Now())
}
