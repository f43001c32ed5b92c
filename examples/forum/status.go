package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// Statuses returns the statuses in the menu.
func (page) Statuses() []presence.Status {
	return []presence.Status{presence.Online, presence.Away, presence.Busy, presence.Invisible}
}

// Status returns the reader's own choice.
func (p page) Status() presence.Status { return cmp.Or(p.status, presence.Online) }

// setStatus answers POST /status, the form of the menu. It works without script.
func (s *site) setStatus(c echo.Context) error {
	user, form, err := s.memberForm(c)
	if err != nil {
		return err
	}
	status, err := presence.ParseStatus(form.Get("status"))
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, "A status is one of online, away, busy and invisible.")
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), time.Second)
	defer cancel()
	err = s.streams.SetStatus(ctx, me(c), status)
	if errors.Is(err, handlers.ErrTooManyStatuses) {
		return errTooMany(c)
	}
	if err != nil {
		if !hungUp(c) {
			s.log.Warn("a status was not set", "user", user.ID, "err", err)
		}
		c.Response().Header().Set("Retry-After", "5")
		return echo.NewHTTPError(http.StatusServiceUnavailable, "Your status could not be set just now. Try again in a moment.")
	}
	return c.Redirect(http.StatusSeeOther, localPath(form.Get("next")))
}
