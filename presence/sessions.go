package presence

import (
	"context"
	"time"
)

// A Session is a device from which a user is online.
type Session struct {
	Device
	Since       time.Time // when it came online, by the store's clock
	Connections int       // open streams, on all nodes; 0: a page view or the grace holds it
}

// Sessions returns the devices from which a user is online, the latest first. It costs one
// round trip to the store. It returns [ErrNoDirectory] or [ErrStoreOut].
func (t *Tracker) Sessions(ctx context.Context, user UserID) ([]Session, error) {
	return nil, ErrNoDirectory
}

// EndSession ends what holds a user online from one device, at once and on every node: its
// connections end with [ErrSignedOut], and its page views no longer count (rule P11). Other
// visitors see nothing if the user has another device. The site must have ended its own
// session of the device before, or the device comes back. It is a no-op for a device that is
// not there. It returns when the store knows; its errors are [ErrInvalidDevice],
// [ErrNoDirectory], and those of [Tracker.SignOut].
func (t *Tracker) EndSession(ctx context.Context, user UserID, device DeviceID) error {
	return ErrNoDirectory
}
