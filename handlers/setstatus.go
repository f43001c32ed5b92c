package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// ErrTooManyStatuses is the error of [Handler.SetStatus] for a user who changes the own
// status more often than [Config.MaxStatuses] allows. The site answers 429 with
// "Retry-After: 1".
var ErrTooManyStatuses = errors.New("handlers: the status was changed too often")

// SetStatus sets a user's status as PUT /status does, for forms of the site's own. The
// site must have checked that the user is the one who asks. All of these requests share
// one rate for the user. It costs what [presence.Tracker.SetStatus] costs, and may be
// called concurrently.
//
// The errors are [ErrTooManyStatuses], [presence.ErrInvalidUser], and those of
// [presence.Tracker.SetStatus], which has no rate.
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
	if err := (presence.User{ID: user}).Validate(); err != nil {
		return err
	}
	if _, err := presence.ParseStatus(string(status)); err != nil {
		return err
	}
	user = presence.UserID(strings.Clone(string(user))) // the tracker keeps it: else it would keep the whole request in memory
	if !h.limits.statuses.take(user, time.Now()) {
		return ErrTooManyStatuses
	}
	return h.tracker.SetStatus(ctx, user, status)
}

// setStatus sets the status of a visitor who must be signed in.
func (h *Handler) setStatus(ctx context.Context, visitor presence.Visitor, name string) error {
	if !visitor.SignedIn() {
		return problem.New(http.StatusUnauthorized, "Only a user who is signed in has a status.")
	}
	return h.changeStatus(ctx, visitor.User.ID, presence.Status(name))
}
