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

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// notificationsPage answers GET /notifications. It marks all notifications as seen.
func (s *site) notificationsPage(c echo.Context) error {
	if _, err := s.member(c); err != nil {
		return err
	}
	if head := s.inboxHead(c); head != nil && head.Unseen > 0 && c.QueryParam("before") == "" {
		s.mark(c, feed.Mark{Seen: true, UpTo: head.Pos})
	}
	return s.renderNotifications(c, http.StatusOK, "")
}

func (s *site) renderNotifications(c echo.Context, status int, problem string) error {
	p := page{Title: "Notifications", Path: "/notifications", Problem: problem}
	ctx, cancel := context.WithTimeout(c.Request().Context(), feedWait)
	defer cancel()
	mutes, _ := s.feeds.Mutes(ctx, me(c))
	for _, m := range mutes {
		p.Mutes = append(p.Mutes, s.muted(m))
	}
	return s.render(c, status, "notifications", p)
}

// changeNotifications answers POST /notifications.
func (s *site) changeNotifications(c echo.Context) error {
	user, err := s.member(c)
	if err != nil {
		return err
	}
	form, err := readFormOf(c, maxMarkLen)
	if err != nil {
		return err
	}
	if form.Get("do") == "mute" {
		return s.mute(c, user, form, "/notifications")
	}
	mark, err := markOf(form)
	if err == nil {
		err = mark.Validate()
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
		defer cancel()
		_, err = s.feeds.Mark(ctx, feed.Inbox(me(c)), mark)
	}
	return s.answerNotifications(c, user, err, "/notifications")
}

// maxMarkLen is the largest size of a form of notifications, in bytes: it may name 100 places.
const maxMarkLen = 8 << 10

// markOf returns the mark that a form asks for.
func markOf(form url.Values) (m feed.Mark, err error) {
	switch do := form.Get("do"); do {
	case "read":
		m.As = feed.Read
	case "unread":
		m.As = feed.Unread
	case "archive":
		m.As = feed.Archived
	case "seen":
		m.Seen = true
	default:
		return m, fmt.Errorf("%w: a notification can be marked by one of read, unread, archive and seen", feed.ErrInvalidMark)
	}
	m.About = form.Get("about")
	for _, text := range form["pos"] {
		pos, err := place(text)
		if err != nil {
			return m, err
		}
		m.Pos = append(m.Pos, pos)
	}
	if form.Has("upto") {
		m.UpTo, err = place(form.Get("upto"))
	}
	return m, err
}

// place parses the place of an item in a form.
func place(text string) (int64, error) {
	pos, err := strconv.ParseInt(text, 10, 64)
	if err != nil || pos < 1 {
		return 0, fmt.Errorf("%w: %.40q is no place of a notification", feed.ErrInvalidMark, text)
	}
	return pos, nil
}

// answerNotifications answers a form of notifications or of mutes.
func (s *site) answerNotifications(c echo.Context, user presence.User, err error, next string) error {
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, next)
	case errors.Is(err, feed.ErrInvalidMark), errors.Is(err, feed.ErrInvalidMute):
		return s.renderNotifications(c, http.StatusBadRequest, sentence(err))
	case errors.Is(err, feed.ErrTooManyMutes):
		return s.renderNotifications(c, http.StatusBadRequest, "You have muted as much as you can. Lift a mute first.")
	}
	err = s.notNow(c, user.ID, err)
	if he := new(echo.HTTPError); errors.As(err, &he) {
		return s.renderNotifications(c, he.Code, fmt.Sprint(he.Message))
	}
	return err
}

// setMute answers POST /mutes.
func (s *site) setMute(c echo.Context) error {
	user, form, err := s.memberForm(c)
	if err != nil {
		return err
	}
	return s.mute(c, user, form, localPath(cmp.Or(form.Get("next"), "/notifications")))
}

// mute sets or lifts the mute that a form names: how is all, mail or empty.
func (s *site) mute(c echo.Context, user presence.User, form url.Values, next string) error {
	how, err := feed.ParseHow(form.Get("how"))
	if err == nil {
		ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
		defer cancel()
		err = s.feeds.Mute(ctx, me(c), feed.Mute{Scope: form.Get("scope"), How: how})
	}
	return s.answerNotifications(c, user, err, next)
}

// A mutedRow is a mute on the page that lists them.
type mutedRow struct{ Scope, Title, URL, Kept string }

// muted describes a mute in words.
func (s *site) muted(m feed.Mute) mutedRow {
	row := mutedRow{Scope: m.Scope, Title: m.Scope, Kept: "no notifications"}
	if m.How == feed.MuteMail {
		row.Kept = "no mail"
	}
	switch kind, what, _ := strings.Cut(m.Scope, ":"); {
	case m.Scope == "*":
		row.Title = "Everything"
	case m.Scope == "type:reply":
		row.Title = "Replies"
	case kind == "about":
		if t, ok := s.threadOf(presence.Topic(what)); ok {
			row.Title, row.URL = t.Title, t.URL()
		}
	}
	return row
}
