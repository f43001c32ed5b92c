package presence

import (
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// Status is what a user wants others to see.
type Status string

// The statuses. The zero value of Status means "as it was", or Online for a
// user who comes new.
const (
	Online    Status = "online"
	Away      Status = "away"
	Busy      Status = "busy"
	Invisible Status = "invisible" // present, but in no roster, count or diff

	// Idle is shown for a user who is Online while nobody is at any of the user's pages. No user chooses it,
	// and others see Away: see track.Page.Idle.
	Idle Status = "idle"
)

// Unseen reports whether a store keeps no last seen of a user with this status (rule 5 of backend.Store).
// Such a status ends with a "-": "online-", "invisible-". A Tracker with a [Directory] writes these;
// [ParseStatus] refuses them, so no user chooses one.
func (s Status) Unseen() bool { return strings.HasSuffix(string(s), wire.UnseenMark) }

// Base returns the status without the "-" of [Status.Unseen].
func (s Status) Base() Status { return Status(strings.TrimSuffix(string(s), wire.UnseenMark)) }

// Shown returns the status as others see it: without the "-" of [Status.Unseen], and Away
// for [Idle].
func (s Status) Shown() Status {
	if s = s.Base(); s == Idle {
		return Away
	}
	return s
}

// ParseStatus returns s as a Status, or [ErrInvalidStatus].
func ParseStatus(s string) (Status, error) {
	switch st := Status(s); st {
	case Online, Away, Busy, Invisible:
		return st, nil
	}
	return "", fmt.Errorf("%w: it must be online, away, busy or invisible", ErrInvalidStatus)
}
