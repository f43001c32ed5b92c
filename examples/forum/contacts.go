package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// contactsPage answers GET /contacts. The page lists the contacts of the signed-in user, and whom the user blocks.
func (s *site) contactsPage(c echo.Context) error {
	user, err := s.member(c)
	if err != nil {
		return err
	}
	return s.renderContacts(c, http.StatusOK, user.ID, "")
}

func (s *site) renderContacts(c echo.Context, status int, user presence.UserID, problem string) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), pageWait)
	defer cancel()
	entries, err := s.sql.people.List(ctx, inside(ctx, user))
	if err != nil {
		return s.notNow(c, user, err)
	}
	p := page{Title: "Your contacts", Problem: problem}
	for _, e := range entries {
		if e.Relation == presence.Blocked {
			p.Blocked = append(p.Blocked, e.User.Local())
		} else {
			p.Contacts = append(p.Contacts, e.User.Local())
		}
	}
	return s.render(c, status, "contacts", p)
}

// setContacts answers POST /contacts.
func (s *site) setContacts(c echo.Context) error {
	user, form, err := s.memberForm(c)
	if err != nil {
		return err
	}
	other, ok := contactNamed(form.Get("user"))
	people := s.sql.people
	do := map[string]func(ctx context.Context, user, other presence.UserID) error{
		"add": people.AddContact, "remove": people.RemoveContact, "block": people.Block, "unblock": people.Unblock,
	}[form.Get("do")]
	switch {
	case !ok:
		return s.renderContacts(c, http.StatusBadRequest, user.ID, "There can be no member of that name. "+nameRule)
	case other == user.ID:
		return s.renderContacts(c, http.StatusBadRequest, user.ID, "That is you.")
	case do == nil:
		return s.renderContacts(c, http.StatusBadRequest, user.ID, "Of a member you can do one of add, remove, block and unblock.")
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
	defer cancel()
	switch err := do(ctx, me(c), inside(ctx, other)); {
	case errors.Is(err, presence.ErrTooManyContacts):
		return s.renderContacts(c, http.StatusBadRequest, user.ID, "Your list is full. Remove somebody first.")
	case errors.Is(err, presence.ErrBlocked):
		return s.renderContacts(c, http.StatusBadRequest, user.ID, "You have blocked that member. Unblock first.")
	case err != nil:
		return s.notNow(c, user.ID, err)
	}
	if err := s.tracker.People().RelationsChanged(ctx, me(c)); err != nil {
		return s.notNow(c, user.ID, err)
	}
	return c.Redirect(http.StatusSeeOther, "/contacts")
}

// contactNamed returns the id of a user from a form, which has the user's name or id.
func contactNamed(text string) (presence.UserID, bool) {
	if user, ok := userNamed(text); ok {
		return user.ID, true
	}
	return userID(strings.TrimSpace(text))
}
