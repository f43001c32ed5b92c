package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// maxStatusFor is the longest time after which a status may end by itself.
const maxStatusFor = 365 * 24 * time.Hour

// settingsPage answers GET /settings.
func (s *site) settingsPage(c echo.Context) error {
	if _, err := s.member(c); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "settings", page{Title: "Your settings"})
}

// setSettings answers POST /settings. Settings that the form does not name stay unchanged.
func (s *site) setSettings(c echo.Context) error {
	user, form, err := s.memberForm(c)
	if err != nil {
		return err
	}
	change := func(settings *presence.Settings) (err error) {
		*settings, err = changeSettings(*settings, form, time.Now())
		return cmp.Or(err, settings.Validate())
	}
	if err := change(new(presence.Settings)); err != nil { // an invalid form must not count as a change
		return s.render(c, http.StatusBadRequest, "settings", page{Title: "Your settings", Problem: sentence(err)})
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
	defer cancel()
	switch err := s.streams.ChangeSettings(ctx, me(c), change); {
	case errors.Is(err, handlers.ErrTooManyStatuses):
		return errTooMany(c)
	case err != nil:
		return s.notNow(c, user.ID, err)
	}
	return c.Redirect(http.StatusSeeOther, "/settings")
}

// changeSettings returns the settings after the changes of a form. A status or a text that the form changes
// has no end, unless the form says after how many seconds it ends.
func changeSettings(was presence.Settings, form url.Values, now time.Time) (presence.Settings, error) {
	s := was
	if form.Has("status") {
		s.Status = presence.Status(form.Get("status"))
		if _, err := presence.ParseStatus(form.Get("status")); err != nil {
			return s, fmt.Errorf("%w: %w", presence.ErrInvalidSettings, err)
		}
	}
	if form.Has("text") {
		s.Text = strings.TrimSpace(form.Get("text"))
	}
	for name, audience := range map[string]*presence.Audience{"online": &s.Online, "seen": &s.Seen} {
		if form.Has(name) {
			a, err := presence.ParseAudience(form.Get(name))
			if err != nil {
				return s, err
			}
			*audience = a
		}
	}
	if form.Has("for") {
		n, err := strconv.Atoi(cmp.Or(form.Get("for"), "0"))
		if err != nil || n < 0 || n > int(maxStatusFor/time.Second) {
			return s, errStatusFor
		}
		s.Until = time.Time{}
		if n > 0 {
			s.Until = now.Add(time.Duration(n) * time.Second)
		}
	} else if s.Status != was.Status || s.Text != was.Text {
		s.Until = time.Time{}
	}
	return s, nil
}

var errStatusFor = fmt.Errorf("%w: a status may end after 0 seconds, which is never, to a year", presence.ErrInvalidSettings)

// sentence returns an error's text as a sentence.
func sentence(err error) string {
	text := err.Error()
	return cmp.Or(strings.ToUpper(text[:min(1, len(text))])+text[min(1, len(text)):]+".", "That cannot be.")
}
