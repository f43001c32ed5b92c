package handlers

import (
	"context"
	"errors"

	"github.com/rollcall-go/rollcall/presence"
)

// Errors of [Handler.EndSession], beside those of [track.People.EndSession].
var (
	// ErrNoEndSession: [Config.EndSession] is not set. The site answers 404.
	ErrNoEndSession = errors.New("handlers: Config.EndSession is not set")
	// ErrSessionNotEnded: [Config.EndSession] failed, and the session goes on. The site
	// answers 503 with "Retry-After: 5".
	ErrSessionNotEnded = errors.New("handlers: the site could not end the session")
)

// EndSession ends a user's session of a device as DELETE /sessions/… does, for forms of the site's own. It
// ends the site's session by [Config.EndSession] first, and then the session's presence on all nodes. The site
// must have checked that the request comes from that user. It returns nil if there is no such session. It
// costs what both calls cost, takes 7 s at most, and may be called concurrently.
//
// The errors are [ErrNoEndSession], [ErrSessionNotEnded], [presence.ErrInvalidUser], and those of
// [track.People.EndSession]. After one of the last, the site's session has ended, but its presence may last as
// long as its connections. Another try ends it.
func (h *Handler) EndSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	return h.people.endSession(ctx, user, device)
}

func (e *peopleEndpoints) endSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	if device == "" {
		return presence.ErrInvalidDevice
	}
	if err := (presence.Device{ID: device}).Validate(); err != nil {
		return err
	}
	switch {
	case !e.cfg.people:
		return presence.ErrNoDirectory
	case e.cfg.EndSession == nil:
		return ErrNoEndSession
	}
	ctx = context.WithoutCancel(ctx) // even if the client goes away, the presence of an ended session must end
	if err := e.site.endSession(ctx, user, device); err != nil {
		e.faults.Warn("presence: Config.EndSession failed; the session goes on", "user", user, "error", err)
		return ErrSessionNotEnded
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return e.tracker.People().EndSession(ctx, user, device)
}
