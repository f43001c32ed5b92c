package main

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A page has the data of every view.
type page struct {
	Title   string
	Path    string        // the page to return to after a sign-in
	Style   string        // URL of the style sheet
	Icon    string        // URL of the icon
	User    presence.User // the reader; without an ID for a guest
	Staff   bool          // whether the reader is one of the staff
	Threads []thread      // of the front page
	Thread  thread        // of a thread's page
	Latest  bool          // of a thread's page: it has the latest posts
	Feed    *feed.Head    // of a thread's page: where its feed stood before the posts were read; nil: not known
	Draft   draft         // of a thread's page: a reply that was not posted
	Mute    *muteButton   // of a thread's page: mutes or unmutes it; nil: not known
	Roster  roster        // of the page of who is online
	Editing editing       // of the page on which a post is edited
	Problem string        // of an error's page, or of a form that failed
	People  bool          // whether the site has settings, contacts, sessions, replies and notifications

	Contacts []presence.UserID // of the page of contacts
	Blocked  []presence.UserID // of the page of contacts: users whom the reader blocks
	Person   person            // of a user's page
	Mutes    []mutedRow        // of the page of notifications; nil: none, or not known

	status presence.Status // the reader's own choice; empty: none
}

// render answers with a view. A browser may keep the page for its back button, and otherwise asks again,
// because the page is for one reader at one moment.
func (s *site) render(c echo.Context, status int, view string, p page) error {
	p.Path = cmp.Or(p.Path, c.Request().URL.Path)
	p.Style, p.Icon = s.style.path, s.icon.path
	p.User = presence.VisitorFromContext(c.Request().Context()).User
	p.Staff, p.People = s.isStaff(p.User.ID), s.sql != nil
	p.status = s.tracker.Status(me(c))
	if p.status == "" && p.User.Veiled {
		p.status = presence.Invisible
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return c.Render(status, view, p)
}

func (s *site) frontPage(c echo.Context) error {
	all := s.posts.threads(c.Request().Context(), tenantOf(c))
	return s.render(c, http.StatusOK, "front", page{Title: "Threads", Threads: all})
}

// placesPage answers GET /online/places: all places in the forum with the users in them.
func (s *site) placesPage(c echo.Context) error {
	return s.render(c, http.StatusOK, "places", page{Title: "Where everybody is"})
}

// rulesPage answers GET /rules. Its readers are counted and not named.
func (s *site) rulesPage(c echo.Context) error {
	return s.render(c, http.StatusOK, "rules", page{Title: "The rules"})
}

// threadPage answers GET /threads/{id}. Earlier posts have pages of their own, which readers without script
// use.
func (s *site) threadPage(c echo.Context) error {
	t, ok := s.threadAt(c)
	if !ok {
		return echo.ErrNotFound
	}
	before := 0
	if text := c.QueryParam("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return echo.ErrNotFound
		}
		before = int(n)
	}
	return s.renderThread(c, http.StatusOK, t.ID, before, draft{})
}

// threadAt returns the thread of a request's path.
func (s *site) threadAt(c echo.Context) (thread, bool) {
	for _, t := range s.threads {
		if c.Param("id") == strconv.Itoa(t.ID) {
			return t, true
		}
	}
	return thread{}, false
}

// renderThread answers with a thread. After its latest posts are shown, the notifications about the thread are
// marked as read, up to the state before the posts were read. If the latest posts could not be read, nothing
// is marked, because the page then shows older ones.
func (s *site) renderThread(c echo.Context, status int, id, before int, d draft) error {
	ctx, tenant := c.Request().Context(), tenantOf(c)
	p := page{Draft: d}
	t, _ := s.posts.get(tenant, id)
	var heads heads
	if before == 0 {
		heads = s.headsFor(c, t)
	}
	t, fresh, ok := s.posts.thread(ctx, tenant, id, before)
	switch {
	case !ok && !fresh && t.ID != 0:
		return echo.NewHTTPError(http.StatusServiceUnavailable, "These posts cannot be read just now. Try again in a moment.")
	case !ok:
		return echo.ErrNotFound
	}
	if fresh && heads.inbox != nil && heads.inbox.Unread > 0 {
		s.mark(c, feed.Mark{As: feed.Read, About: string(t.Topic()), UpTo: heads.inbox.Pos})
	}
	p.Feed = heads.room
	p.Title, p.Path, p.Thread, p.Latest = t.Title, t.URL(), t, before == 0
	p.Mute = s.muteButton(ctx, t)
	return s.render(c, status, "thread", p)
}

// errorPage answers with a page that says what went wrong, without internal details.
func (s *site) errorPage(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	status, problem := http.StatusInternalServerError, "Something broke on our side. It is in the log."
	if he := new(echo.HTTPError); errors.As(err, &he) {
		status = he.Code
		problem, _ = he.Message.(string)
	} else if !hungUp(c) {
		s.log.Error("a page failed", "path", c.Request().URL.Path, "err", err)
	}
	if status == http.StatusNotFound {
		problem = "There is no such page in this forum."
	}
	p := page{Title: http.StatusText(status), Problem: problem}
	if err := s.render(c, status, "error", p); err != nil && !hungUp(c) {
		s.log.Error("the error page failed", "path", c.Request().URL.Path, "err", err)
	}
}
