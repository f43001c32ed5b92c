package templates

import (
	"context"
	"time"
)

// pageWait is how long a page waits for the store in all, for topics that are not
// in memory and for last seen. Where one has waited in vain, others do not wait for
// the next second: a store that hangs is not known to be out until its first calls
// fail.
const (
	pageWait = 50 * time.Millisecond
	vainWait = time.Second
)

// patience is what a page has left of pageWait.
type patience struct {
	left  time.Duration
	begun bool
}

// ask has the page wait for an answer of the store, and returns the error of fn.
// The context of fn ends when the page waits no longer: it may have ended already,
// and fn then takes what is in memory.
func (p *page) ask(fn func(ctx context.Context) error) error {
	began := time.Now()
	if !p.wait.begun {
		p.wait.begun = true
		if began.UnixNano()-p.kit.vain.Load() >= int64(vainWait) {
			p.wait.left = pageWait
		}
	}
	ctx, cancel := context.WithTimeout(p.request.Context(), p.wait.left)
	defer cancel()
	err := fn(ctx)
	// A store that is merely slow answers one question in the time of a page: that
	// the time was over at the second says nothing against it. Nor does a visitor
	// who left.
	if err != nil && p.wait.left > pageWait/2 && ctx.Err() == context.DeadlineExceeded {
		p.kit.vain.Store(time.Now().UnixNano())
	}
	p.wait.left -= time.Since(began)
	return err
}

// waits reports whether the page still waits for the store.
func (p *page) waits() bool { return !p.wait.begun || p.wait.left > 0 }
