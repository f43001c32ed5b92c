package templates

import (
	"context"
	"time"
)

const (
	// maxPageWait is how long a page waits for the store in all, for topics that are not
	// in memory and for last seen.
	maxPageWait = 50 * time.Millisecond
	// noWait is how long other pages do not wait after one page has waited in vain. A
	// store that hangs counts as out only once its first calls fail.
	noWait = time.Second
)

// patience is how long a page goes on waiting for the store.
type patience struct {
	left  time.Duration
	begun bool
}

// ask calls fn, and returns its error. The context of fn ends when the page stops waiting.
// It may have ended before: fn then takes what is in memory.
func (p *Page) ask(fn func(ctx context.Context) error) error {
	began := time.Now()
	if !p.wait.begun {
		p.wait.begun = true
		if began.UnixNano()-p.widgets.timedOut.Load() >= int64(noWait) {
			p.wait.left = maxPageWait
		}
	}
	ctx, cancel := context.WithTimeout(p.request.Context(), p.wait.left)
	defer cancel()
	err := fn(ctx)
	// A store that is only slow answers one question of a page in time: a second question
	// that finds little time left does not count. Nor does a visitor who went away.
	if err != nil && p.wait.left > maxPageWait/2 && ctx.Err() == context.DeadlineExceeded {
		p.widgets.timedOut.Store(time.Now().UnixNano())
	}
	p.wait.left -= time.Since(began)
	return err
}

// waits reports whether the page still waits for the store.
func (p *Page) waits() bool { return !p.wait.begun || p.wait.left > 0 }
