package track

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Health returns nil while this node can serve presence. It returns [presence.ErrClosed] once Close
// was called, and an error that is [presence.ErrStoreOut] if the store has been out for longer than
// Config.TTL. A shorter outage is no error: pages go on, and no user is seen to leave. It
// reads memory only, and may be called at any time. A [presence.Directory] that is out is
// no error: see [PeopleStats].
func (t *Tracker) Health() error {
	if t.users.isClosed() {
		return presence.ErrClosed
	}
	if d := t.outage.lasts(); d > t.cfg.TTL {
		return fmt.Errorf("%w for %v", presence.ErrStoreOut, d.Round(time.Second))
	}
	return nil
}

// StoreOut reports whether the latest write to the store or the latest read from it failed. It
// reads memory only.
func (t *Tracker) StoreOut() bool { return t.outage.latestFailed() }

// isClosed reports whether close was called.
func (p *users) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// lasts returns how long ago the store was last in order: 0 while it is in order now.
func (o *outage) lasts() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	since := time.Since(o.wentWell)
	if o.failingLocked() || since > o.cfg.harmlessOutage() {
		return since
	}
	return 0 // a write that hangs has failed within applyTimeout
}
