package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// settings changes the settings that a form names, as PUT /settings does.
func (e *formEndpoints) settings(r *http.Request, v presence.Visitor, _ string, form url.Values) error {
	change, err := settingsOf(form, time.Now())
	if err != nil {
		return err
	}
	return e.people.choices.change(r.Context(), v.User.ID, change)
}

// settingsOf returns the change in a form. An empty for means no end.
func settingsOf(form url.Values, now time.Time) (c settingsChange, err error) {
	for _, name := range [...]string{"status", "text", "for", "online", "seen"} {
		if !form.Has(name) {
			continue
		}
		value := asText(strings.TrimSpace(form.Get(name)))
		if name == "for" {
			value = json.RawMessage(cmp.Or(form.Get(name), "0"))
		}
		if err := c.set(name, value, now); err != nil {
			return c, err
		}
	}
	return c, nil
}

// asText returns a field of a form as the JSON that the endpoints without forms take.
func asText(field string) json.RawMessage {
	text, _ := json.Marshal(field) // a string: it cannot fail
	return text
}

// session ends the session of a device.
func (e *formEndpoints) session(r *http.Request, v presence.Visitor, device string, _ url.Values) error {
	return e.people.endSession(r.Context(), v.User.ID, presence.DeviceID(device))
}

// Contacts changes whom users list and whom they block. The ids include the user's tenant
// ([presence.UserID.In]). The People of package sqlstore implements it.
type Contacts interface {
	// AddContact adds other to the end of the user's list. It returns [presence.ErrTooManyContacts], and
	// [presence.ErrBlocked] if the user blocks other.
	AddContact(ctx context.Context, user, other presence.UserID) error
	// RemoveContact removes other from the list.
	RemoveContact(ctx context.Context, user, other presence.UserID) error
	// Block removes other from the list, and hides the user from other. It returns
	// [presence.ErrTooManyContacts].
	Block(ctx context.Context, user, other presence.UserID) error
	// Unblock ends a block.
	Unblock(ctx context.Context, user, other presence.UserID) error
}

// contacts adds another user to the visitor's lists, or removes one.
func (e *formEndpoints) contacts(r *http.Request, v presence.Visitor, _ string, form url.Values) error {
	do := map[string]func(ctx context.Context, user, other presence.UserID) error{
		"add": e.cfg.Contacts.AddContact, "remove": e.cfg.Contacts.RemoveContact, "block": e.cfg.Contacts.Block, "unblock": e.cfg.Contacts.Unblock,
	}[form.Get("do")]
	other := presence.User{ID: presence.UserID(strings.Clone(strings.TrimSpace(form.Get("user"))))}
	switch err := other.Validate(); {
	case do == nil:
		return badRequest("Of a user you can do one of add, remove, block and unblock.")
	case err != nil:
		return err
	case other.ID == v.User.ID.Local():
		return badRequest("That is you.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), changeWait)
	defer cancel()
	if err := do(ctx, v.User.ID, other.ID.In(v.Tenant)); err != nil {
		return fmt.Errorf("%w: %w", presence.ErrDirectoryOut, err) // unless it is an error that Contacts names
	}
	return e.tracker.People().RelationsChanged(ctx, v.User.ID)
}
