package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// ErrTooManyStatuses is the error of [Handler.SetStatus] for users who change their status more often than
// [Config.MaxRate] allows. The site answers 429 with "Retry-After: 1".
var ErrTooManyStatuses = errors.New("handlers: the status was changed too often")

// choices changes the settings of users: the status, the text beside it, and who sees them. Requests,
// messages, forms and the site's own code share the rates.
type choices struct {
	tracker  *track.Tracker
	cfg      *settings
	limits   *limits
	changing wait.Keyed[presence.UserID] // users whose settings are being changed
}

// SetStatus sets a user's status as PUT /status does, for forms of the site's own. The site must have checked
// that the request comes from that user. All of these requests share one rate for the user. On a site with a
// Directory the new status has no end, and the text beside it is removed. It costs what
// [track.Tracker.SetStatus] costs, and may be called concurrently.
//
// The errors are [ErrTooManyStatuses], [presence.ErrInvalidUser], and those of
// [track.Tracker.SetStatus], which has no rate.
func (h *Handler) SetStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	err := h.choices.changeStatus(ctx, user, status)
	if errors.Is(err, ErrTooManyStatuses) {
		h.counters.limited.Add(1)
	}
	return err
}

// changeStatus sets a user's status. All of the user's requests, sockets and forms share
// one rate: a change costs the fleet much more than the request for it.
func (cs *choices) changeStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	if _, err := presence.ParseStatus(string(status)); err != nil {
		return err
	}
	if cs.cfg.people {
		return cs.change(ctx, user, wholeStatus(status))
	}
	user = presence.UserID(strings.Clone(string(user))) // the tracker keeps the id: without a copy it would keep the whole request
	if !cs.limits.statuses.Take(user, gate.Token, time.Now()) {
		return ErrTooManyStatuses
	}
	return cs.tracker.SetStatus(ctx, user, status)
}

// wholeStatus returns the change to a status that has no text and no end.
func wholeStatus(status presence.Status) settingsChange {
	return settingsChange{status: &status, text: new(string), until: new(time.Time)}
}

// A statusRequest is the visitor's own status in a request or a message. Only a site with a Directory keeps
// its text and its end.
type statusRequest struct {
	Status string          `json:"status"`
	For    json.RawMessage `json:"for"`  // seconds; nil: the status has no end
	Text   json.RawMessage `json:"text"` // nil: no text
}

// setStatus sets the status of a visitor who must be signed in.
func (cs *choices) setStatus(ctx context.Context, visitor presence.Visitor, want statusRequest) error {
	if !visitor.SignedIn() {
		return problem.New(http.StatusUnauthorized, "Only a user who is signed in has a status.")
	}
	if want.For == nil && want.Text == nil {
		return cs.changeStatus(ctx, visitor.User.ID, presence.Status(want.Status))
	}
	if !cs.cfg.people {
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
	return cs.change(ctx, visitor.User.ID, c)
}

// ChangeSettings changes a user's settings, for forms of the site's own. change gets the current settings, and
// an error of change is returned. The site must have checked that the request comes from that user. The change
// counts as one of the user's status, by [Config.MaxRate]. It waits for any other change of the same user on
// this node, so that none is lost. It costs what [track.People.ChangeSettings] costs, takes 6 s at most even
// if ctx ends before, and may be called concurrently.
//
// The errors are [ErrTooManyStatuses], [presence.ErrInvalidUser], and those of
// [track.People.ChangeSettings], which has no rate.
func (h *Handler) ChangeSettings(ctx context.Context, user presence.UserID, change func(*presence.Settings) error) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	if !h.cfg.people {
		return presence.ErrNoDirectory
	}
	err := h.choices.rated(ctx, user, &h.limits.statuses, change)
	if errors.Is(err, ErrTooManyStatuses) {
		h.counters.limited.Add(1)
	}
	return err
}

// change replaces the settings that a request names.
func (cs *choices) change(ctx context.Context, user presence.UserID, c settingsChange) error {
	rate := &cs.limits.audiences
	if c.ofStatus() {
		rate = &cs.limits.statuses
	}
	return cs.rated(ctx, user, rate, func(s *presence.Settings) error {
		*s = c.apply(*s, time.Now())
		return nil
	})
}

// rated changes a user's settings, if the user has not done so too often. It makes the changes of one user one
// after another.
func (cs *choices) rated(ctx context.Context, user presence.UserID, rate *gate.Meter[presence.UserID], change func(*presence.Settings) error) error {
	user = presence.UserID(strings.Clone(string(user))) // without a copy the tracker would keep the whole request
	if !rate.Take(user, gate.Token, time.Now()) {
		return ErrTooManyStatuses
	}
	ctx, cancel := changeContext(ctx)
	defer cancel()
	unlock, err := cs.changing.Enter(ctx, user)
	if err != nil {
		return err
	}
	defer unlock()
	return cs.tracker.People().ChangeSettings(ctx, user, change)
}

// changeWait is how long a change of settings may take: it reads the Directory, writes it, and informs the
// nodes.
const changeWait = 3 * storeWait

// changeContext returns the context of a change. It does not end with the request. Otherwise a client that
// goes away could leave a change in the Directory that the nodes do not have.
func changeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), changeWait)
}
