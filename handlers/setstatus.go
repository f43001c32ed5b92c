package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// ErrTooManyStatuses is the error of [Handler.SetStatus] for a user who changes the own
// status more often than [Config.MaxRate] allows. The site answers 429 with
// "Retry-After: 1".
var ErrTooManyStatuses = errors.New("handlers: the status was changed too often")

// SetStatus sets a user's status as PUT /status does, for forms of the site's own. The
// site must have checked that the user is the one who asks. All of these requests share
// one rate for the user. On a site with a Directory the status has no end, and the text
// beside it goes. It costs what [track.Tracker.SetStatus] costs, and may be
// called concurrently.
//
// The errors are [ErrTooManyStatuses], [presence.ErrInvalidUser], and those of
// [track.Tracker.SetStatus], which has no rate.
func (h *Handler) SetStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	err := h.changeStatus(ctx, user, status)
	if errors.Is(err, ErrTooManyStatuses) {
		h.counters.limited.Add(1)
	}
	return err
}

// changeStatus sets a user's status. All of the user's requests, sockets and forms share
// one rate: a change costs the fleet much more than the request for it.
func (h *Handler) changeStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	if _, err := presence.ParseStatus(string(status)); err != nil {
		return err
	}
	if h.cfg.people {
		return h.change(ctx, user, wholeStatus(status))
	}
	user = presence.UserID(strings.Clone(string(user))) // the tracker keeps it: else it would keep the whole request in memory
	if !h.limits.statuses.take(user, time.Now()) {
		return ErrTooManyStatuses
	}
	return h.tracker.SetStatus(ctx, user, status)
}

// wholeStatus returns the change to a status without a text and without an end.
func wholeStatus(status presence.Status) settingsChange {
	return settingsChange{status: &status, text: new(string), until: new(time.Time)}
}

// A statusRequest is what a request or a message says of the visitor's own status. Only a
// site with a Directory keeps the text beside it, and its end.
type statusRequest struct {
	Status string          `json:"status"`
	For    json.RawMessage `json:"for"`  // seconds; nil: it has no end
	Text   json.RawMessage `json:"text"` // nil: there is none
}

// setStatus sets the status of a visitor who must be signed in.
func (h *Handler) setStatus(ctx context.Context, visitor presence.Visitor, want statusRequest) error {
	if !visitor.SignedIn() {
		return problem.New(http.StatusUnauthorized, "Only a user who is signed in has a status.")
	}
	if want.For == nil && want.Text == nil {
		return h.changeStatus(ctx, visitor.User.ID, presence.Status(want.Status))
	}
	if !h.cfg.people {
		return badRequest("This site keeps a status without a text and without an end.")
	}
	status, err := presence.ParseStatus(want.Status)
	if err != nil {
		return err
	}
	c, now := wholeStatus(status), time.Now()
	if want.For != nil {
		if err := c.set("for", want.For, now); err != nil {
			return err
		}
	}
	if want.Text != nil {
		if err := c.set("text", want.Text, now); err != nil {
			return err
		}
	}
	return h.change(ctx, visitor.User.ID, c)
}
