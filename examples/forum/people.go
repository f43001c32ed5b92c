package main

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// How long a page and a form wait for the database and the store:
const (
	pageWait = time.Second
	formWait = 4 * time.Second
)

// peopleRoutes adds the routes that need a database. Without one they do not exist.
func (s *site) peopleRoutes() {
	read := []string{http.MethodGet, http.MethodHead}
	s.Match(read, "/settings", s.settingsPage)
	s.POST("/settings", s.setSettings, ownForms, s.limited)
	s.GET("/settings/export", s.export, ownLinks, s.limited)
	s.POST("/settings/erase", s.erase, ownForms, s.limited)
	s.Match(read, "/contacts", s.contactsPage)
	s.POST("/contacts", s.setContacts, ownForms, s.limited)
	s.Match(read, "/sessions", s.sessionsPage)
	s.POST("/sessions/:device/end", s.endSessionForm, ownForms, s.limited)
	s.Match(read, "/people/:id", s.personPage)
}

// personURL returns the address of a user's page. It returns "" for the ids "." and "..", which have no page, because a
// browser would take them for parts of the path.
func personURL(id presence.UserID) string {
	if id == "." || id == ".." {
		return ""
	}
	return "/people/" + url.PathEscape(string(id))
}

// personPage answers GET /people/{id}: a user as the reader may see that user. A user who does not exist looks
// like one who is not online, so nobody learns who exists.
func (s *site) personPage(c echo.Context) error {
	id, ok := userID(param(c, "id"))
	if !ok {
		return echo.ErrNotFound
	}
	p := page{Title: string(id), Person: person{ID: id}}
	ctx, cancel := context.WithTimeout(c.Request().Context(), pageWait)
	defer cancel()
	if viewer := presence.VisitorFromContext(ctx).User.ID; viewer != "" && viewer != id {
		is, err := s.sql.people.Relations(ctx, presence.Pair{User: inside(ctx, viewer), Viewer: inside(ctx, id)})
		if err == nil {
			p.Person.Deeds = deeds[is[0]]
		}
	}
	return s.render(c, http.StatusOK, "person", p)
}

// A person is a user with a page.
type person struct {
	ID    presence.UserID
	Deeds []deed // the buttons that the reader has for the user
}

// A deed is a button of a form of contacts.
type deed struct{ Do, Text string }

// deeds has the deeds for another user, by the user's present relation to the other.
var deeds = map[presence.Relation][]deed{
	presence.Stranger: {{"add", "Add to your contacts"}, {"block", "Block"}},
	presence.Contact:  {{"remove", "Remove from your contacts"}, {"block", "Block"}},
	presence.Blocked:  {{"unblock", "Unblock"}},
}

// param returns a part of the path, unescaped. Echo leaves a part escaped if the path could be read in two
// ways. A part that cannot be unescaped is empty.
func param(c echo.Context, name string) string {
	text := c.Param(name)
	if c.Request().URL.RawPath != "" {
		text, _ = url.PathUnescape(text)
	}
	return text
}

// userID returns the id of a user, and false if it cannot be one.
func userID(text string) (presence.UserID, bool) {
	id := presence.UserID(text)
	return id, presence.User{ID: id}.Validate() == nil
}

// member returns the user who makes a request. For a guest it returns an error, whose page asks to sign in.
func (s *site) member(c echo.Context) (presence.User, error) {
	visitor := presence.VisitorFromContext(c.Request().Context())
	if !visitor.SignedIn() {
		return presence.User{}, echo.NewHTTPError(http.StatusUnauthorized, "Sign in first: this page is for members.")
	}
	return visitor.User, nil
}

// memberForm returns the user who sends a form, and its fields.
func (s *site) memberForm(c echo.Context) (user presence.User, form url.Values, err error) {
	if user, err = s.member(c); err == nil {
		form, err = readForm(c)
	}
	return user, form, err
}

// notNow answers a form while the database or the store is unreachable.
func (s *site) notNow(c echo.Context, user presence.UserID, err error) error {
	if hungUp(c) {
		return err
	}
	s.log.Warn("a form could not be done", "path", c.Path(), "user", user, "err", err)
	c.Response().Header().Set("Retry-After", "5")
	return echo.NewHTTPError(http.StatusServiceUnavailable, "That could not be done just now. Try again in a moment.")
}

// funcs are the functions that the forum's own views call.
var funcs = template.FuncMap{"personURL": personURL, "known": newKnown}

// A known is a user on a list, with the deed that removes the user from it.
type known struct {
	Me, User presence.UserID
	deed
}

func newKnown(me, user presence.UserID, do, text string) known {
	return known{me, user, deed{do, text}}
}

// usersOf returns contacts for a list of offline users. The forum knows only their ids and pages.
func usersOf(_ context.Context, ids []presence.UserID) ([]presence.User, error) {
	users := make([]presence.User, len(ids))
	for i, id := range ids {
		users[i] = presence.User{ID: id, URL: personURL(id)}
	}
	return users, nil
}
