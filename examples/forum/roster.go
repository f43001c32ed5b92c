package main

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// rosterPage is how many members one page of the roster shows.
const rosterPage = 100

// allOfThem stands for the page after the widget if the widget is not exactly a page of the list.
const allOfThem = "widget"

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
	view, err := s.tracker.View(c.Request().Context(), presence.Site)
	if err != nil { // the widget shows the error itself
		return s.render(c, http.StatusOK, "online", p)
	}
	after, most := c.QueryParam("after"), rosterPage
	first := after == ""
	if after == allOfThem {
		after = ""
	} else if first {
		most-- // the widget may show the reader first, before the roster has the reader
	}
	members, next, err := s.tracker.RosterPage(c.Request().Context(), view, "", after, most)
	if errors.Is(err, presence.ErrStoreOut) {
		return echo.NewHTTPError(http.StatusServiceUnavailable, "The list is not to be had right now.")
	}
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, "There is no such page of the list.")
	}
	if next != "" {
		p.Roster.Older = "/online?after=" + url.QueryEscape(next)
	}
	switch {
	case !first:
		p.Roster.Members = members
	case !slices.EqualFunc(members, view.Newest(most), func(a, b presence.Member) bool { return a.ID == b.ID }):
		p.Roster.Older = "/online?after=" + allOfThem // the node knows only a part of the roster, and the widget shows other users than the page
	}
	return s.render(c, http.StatusOK, "online", p)
}
