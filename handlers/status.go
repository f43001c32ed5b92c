package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// ErrTooMany says that a user changes the own status more often than
// [Config.MaxStatuses] allows. A site answers it by 429, with "Retry-After: 1".
var ErrTooMany = errors.New("handlers: the status was changed too often")

// SetStatus sets a user's status as PUT /status does. Both share one rate for the
// user, beyond which the error is [ErrTooMany]. The other errors are those of
// [presence.Tracker.SetStatus], which has no rate, and [presence.ErrInvalidUser]. The
// site must know that it is the user who asks.
func (h *Handler) SetStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	err := h.change(ctx, user, status)
	if errors.Is(err, ErrTooMany) {
		h.counters.limited.Add(1)
	}
	return err
}

// change sets a user's status. All of a user's requests, sockets and forms share one
// rate: a status costs the fleet much more than what sets it.
func (h *Handler) change(ctx context.Context, user presence.UserID, status presence.Status) error {
	if err := (presence.User{ID: user}).Validate(); err != nil {
		return err
	}
	if _, err := presence.ParseStatus(string(status)); err != nil {
		return err
	}
	user = presence.UserID(strings.Clone(string(user))) // the tracker keeps it, and not the whole request
	if !h.statuses.take(user, time.Now()) {
		return ErrTooMany
	}
	return h.tracker.SetStatus(ctx, user, status)
}

// setStatus sets a visitor's status, as a request or a message names it.
func (h *Handler) setStatus(ctx context.Context, visitor presence.Visitor, name string) error {
	if !visitor.SignedIn() {
		return newProblem(http.StatusUnauthorized, "Only a user who is signed in has a status.")
	}
	return h.change(ctx, visitor.User.ID, presence.Status(name))
}
