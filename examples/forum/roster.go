package main

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// rosterPage is how many members one page of the roster shows.
const rosterPage = 100

// A roster is a page of the users who are online, for readers without script.
type roster struct {
	Max     int               // of the first page, which is the widget: the number of users in it
	Older   string            // URL of the next page; empty: this is the last page
	Members []presence.Member // of all pages but the first
}

// onlinePage answers GET /online. The first page is the widget, which keeps itself up to date. The later pages
// are lists that do not change.
func (s *site) onlinePage(c echo.Context) error {
	p := page{Title: "Who’s online", Roster: roster{Max: rosterPage}}
	view, err := s.tracker.View(c.Request().Context(), presence.Site.In(tenantOf(c)))
	if err != nil { // the widget shows the error itself
		return s.render(c, http.StatusOK, "online", p)
	}
	after, most := c.QueryParam("after"), rosterPage
	first := after == ""
	if first {
		most-- // the widget may show the reader first, before the roster has the reader
	}
	members, next, err := view.Page("", after, most)
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, "There is no such page of the list.")
	}
	if next != "" {
		p.Roster.Older = "/online?after=" + url.QueryEscape(next)
	}
	if !first {
		p.Roster.Members = members
	}
	return s.render(c, http.StatusOK, "online", p)
}
