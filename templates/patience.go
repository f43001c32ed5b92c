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
	// maxOwnWait is how long a page waits in all for the visitor's own contacts, devices,
	// settings and notifications. It is longer than maxPageWait: a dot without a colour gets
	// it later, but an empty list of contacts would be wrong.
	maxOwnWait = 500 * time.Millisecond
	// noWait is how long no page waits for a source after one page has waited for it in vain.
	// It matters when a store hangs, because the store counts as out only once calls fail.
	noWait = time.Second
)

// patience is how long a page may still wait.
type patience struct {
	left  time.Duration
	begun bool // left is set
}

// A hanging is when a page last waited in vain for a source.
type hanging struct{ at atomic.Int64 } // Unix nanoseconds

// lately reports whether a page waited in vain less than noWait ago. Then no page waits again.
func (h *hanging) lately(now time.Time) bool { return now.UnixNano()-h.at.Load() < int64(noWait) }

// hangs has a hanging for each source. If one source hangs, pages still wait for the others.
type hangs struct{ store, directory, own, feeds, inbox hanging }

// An asker asks the store and the site's Directory for one page. It bounds how long the page waits
// in all.
type asker struct {
	request *http.Request
	hangs   *hangs   // shared by all pages
	wait    patience // for the store and the Directory together
	ownWait patience // for the visitor's own contacts, devices, settings and notifications
}

// ask calls fn, which asks the store, and returns its error. The context of fn ends when the
// page stops waiting. It may have ended already: then fn can only answer from memory.
func (a *asker) ask(fn func(ctx context.Context) error) error {
	return a.askOf(&a.hangs.store, fn)
}

// askPeople is ask for a fn that asks the site's Directory.
func (a *asker) askPeople(fn func(ctx context.Context) error) error {
	return a.askOf(&a.hangs.directory, fn)
}

// askOwn is askPeople for the visitor's own contacts, devices and settings. The page waits for these
// up to maxOwnWait.
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
	// A question counts only if it had most of the time: the source may be merely slow, and an
	// earlier question may have used up the time. A visitor who went away does not count.
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
