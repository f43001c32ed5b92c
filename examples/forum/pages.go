package main

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// A page is what every view gets.
type page struct {
	Title   string
	Path    string        // where a sign-in leads back to
	Style   string        // URL of the style sheet
	Icon    string        // and of the icon
	User    presence.User // who reads it; without an ID for a guest
	Staff   bool          // whether that is one of the staff
	Threads []thread      // of the front page
	Thread  thread        // of a thread's page
	Roster  roster        // of the page of who is online
	Problem string        // of an error's page, or of a form that could not be done
	People  bool          // whether there are settings, contacts and sessions

	Contacts []presence.UserID // of the page of contacts
	Blocked  []presence.UserID // and whom the reader blocks
	Person   person            // of a user's page

	status presence.Status // what the reader chose; empty: nothing
}

// render answers with a view. A browser may keep the page for its back button,
// and asks again otherwise: what it shows is for one reader, at one moment.
func (s *site) render(c echo.Context, status int, view string, p page) error {
	p.Path = c.Request().URL.Path
	p.Style, p.Icon = s.style.path, s.icon.path
	p.User = presence.VisitorFromContext(c.Request().Context()).User
	p.Staff, p.People = s.isStaff(p.User.ID), s.sql != nil
	p.status = s.tracker.Status(p.User.ID)
	if p.status == "" && p.User.Veiled {
		p.status = presence.Invisible
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return c.Render(status, view, p)
}

func (s *site) frontPage(c echo.Context) error {
	return s.render(c, http.StatusOK, "front", page{Title: "Threads", Threads: s.threads})
}

// placesPage answers GET /online/places: where in the forum everybody is.
func (s *site) placesPage(c echo.Context) error {
	return s.render(c, http.StatusOK, "places", page{Title: "Where everybody is"})
}

// rulesPage answers GET /rules, whose readers are counted and not named.
func (s *site) rulesPage(c echo.Context) error {
	return s.render(c, http.StatusOK, "rules", page{Title: "The rules"})
}

func (s *site) threadPage(c echo.Context) error {
	for _, t := range s.threads {
		if c.Param("id") == strconv.Itoa(t.ID) {
			return s.render(c, http.StatusOK, "thread", page{Title: t.Title, Thread: t})
		}
	}
	return echo.ErrNotFound
}

// errorPage answers with a page that says what went wrong, as far as that is
// the reader's business.
func (s *site) errorPage(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	status, problem := http.StatusInternalServerError, "Something broke on our side. It is in the log."
	if he := new(echo.HTTPError); errors.As(err, &he) {
		status = he.Code
		problem, _ = he.Message.(string)
	} else {
		s.log.Error("a page failed", "path", c.Request().URL.Path, "err", err)
	}
	if status == http.StatusNotFound {
		problem = "There is no such page in this forum."
	}
	p := page{Title: http.StatusText(status), Problem: problem}
	if err := s.render(c, status, "error", p); err != nil {
		s.log.Error("the error page failed", "path", c.Request().URL.Path, "err", err)
	}
}
