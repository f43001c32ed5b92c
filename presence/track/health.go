package track

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// health is [Tracker.Health].
func (t *Tracker) health() error {
	if t.users.isClosed() {
		return presence.ErrClosed
	}
	if d := t.outage.lasts(); d > t.cfg.TTL {
		return fmt.Errorf("%w for %v", presence.ErrStoreOut, d.Round(time.Second))
	}
	return nil
}

// isClosed reports whether close was called.
func (p *users) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// lasts returns the time since the store last worked: 0 while it works.
func (o *outage) lasts() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	since := time.Since(o.wentWell)
	if o.failing.any() || since > o.cfg.harmlessOutage() {
		return since
	}
	return 0 // a write that hangs fails within applyTimeout
}
