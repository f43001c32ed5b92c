package main

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/handlers/staff"
	"github.com/rollcall-go/rollcall/presence"
)

// staffPage is the page of staff, for the users in the flag -staff. It ends no sessions of the forum: a
// visitor could sign in under the same name at once. So a user whom staff disconnects may come back when the time is
// over.
func (s *site) staffPage() http.Handler {
	return staff.New(s.tracker, staff.Config{
		Allow: func(_ *http.Request, v presence.Visitor) bool { return s.isStaff(v.User.ID) },
		Title: s.topicTitle,
	})
}

// forStaff answers visitors who are not staff with a page of the forum. The library's page would answer them
// with JSON, since programs may call it too.
func (s *site) forStaff(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		visitor := presence.VisitorFromContext(c.Request().Context())
		switch {
		case !visitor.SignedIn():
			return echo.NewHTTPError(http.StatusUnauthorized, "This page is for the forum’s staff. Sign in as one of them.")
		case !s.isStaff(visitor.User.ID):
			return echo.NewHTTPError(http.StatusForbidden, "This page is for the forum’s staff.")
		}
		return next(c)
	}
}

// isStaff reports whether the flag -staff names a user.
func (s *site) isStaff(id presence.UserID) bool { return slices.Contains(s.staff, id) }

// identify tells presence who makes a request, whether that user is one of the staff, and where the user's
// page is.
func (s *site) identify(c echo.Context) (presence.User, bool) {
	tenant := s.hostOf(c.Request())
	user, ok := identify(c, tenant)
	if !ok || !s.inSession(c, tenant, user.ID) {
		return presence.User{}, false
	}
	if s.isStaff(user.ID) {
		user.Group = "staff"
	}
	if s.sql != nil {
		user.URL = personURL(user.ID)
	}
	return user, true
}

// topicTitle returns the title of a topic on the page of staff.
func (s *site) topicTitle(topic presence.Topic) string {
	if topic == presence.Site {
		return "The whole forum"
	}
	return cmp.Or(s.placeTitle(context.Background(), topic), string(topic))
}

// parseStaff parses the ids of the flag -staff.
func parseStaff(text string) (ids []presence.UserID, err error) {
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.TrimSpace(id); id == "" {
			continue
		}
		user := presence.User{ID: presence.UserID(id)}
		if err := user.Validate(); err != nil {
			return nil, err
		}
		ids = append(ids, user.ID)
	}
	return ids, nil
}
