package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// cookieName is the cookie that says who is signed in.
//
// It holds the bare name, because a visitor of this forum may sign in under any name. So there is no secret to keep,
// and every node of a fleet can read the cookie without a shared key. A real site replaces this file by its session
// middleware. Presence only needs the result of identify.
//
// If the forum has a database, a sign-in also begins a session: see sessionCookie.
const cookieName = "forum_name"

const maxFormLen = 4 << 10 // bytes

// identify returns the user who makes a request to a tenant, by the login cookie. It ignores the cookie of
// another tenant.
func identify(c echo.Context, tenant string) (presence.User, bool) {
	cookie, err := c.Cookie(cookieName)
	if err != nil {
		return presence.User{}, false
	}
	text, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return presence.User{}, false
	}
	name, ok := strings.CutPrefix(text, cookiePrefix(tenant))
	if !ok {
		return presence.User{}, false
	}
	return userNamed(name)
}

// cookiePrefix stands before the name in the cookie of a tenant. No name has a slash.
func cookiePrefix(tenant string) string {
	if tenant == "" {
		return ""
	}
	return tenant + "/"
}

// login answers POST /login.
func (s *site) login(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	user, ok := userNamed(form.Get("name"))
	if !ok {
		return echo.NewHTTPError(http.StatusBadRequest, nameRule)
	}
	s.beginSession(c, user.ID)
	setCookie(c, cookieName, url.QueryEscape(cookiePrefix(tenantOf(c))+user.Name), 0)
	return c.Redirect(http.StatusSeeOther, localPath(form.Get("next")))
}

// errTooMany is the answer to a visitor who sends forms more often than people do.
func errTooMany(c echo.Context) error {
	c.Response().Header().Set("Retry-After", "1")
	return echo.NewHTTPError(http.StatusTooManyRequests, "That was too often. Wait a second, and try again.")
}

// limited refuses a form if its sender or its address has sent too many. Each form costs the whole fleet a
// little.
func (s *site) limited(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.streams.Allow(c.Request()) {
			return errTooMany(c)
		}
		return next(c)
	}
}

// readForm returns the fields of a form in either encoding.
func readForm(c echo.Context) (url.Values, error) { return readFormOf(c, maxFormLen) }

// readFormOf is readForm for a form of at most the given number of bytes. The field me says whose page has the form: if
// somebody else has signed in since, it must not change what is theirs.
func readFormOf(c echo.Context, most int64) (url.Values, error) {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, most)
	err := r.ParseForm()
	if err == nil {
		err = r.ParseMultipartForm(most)
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, echo.NewHTTPError(http.StatusRequestEntityTooLarge, "That form is too large.")
	}
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return nil, echo.NewHTTPError(http.StatusBadRequest, "That form could not be read.")
	}
	if me := r.PostForm.Get("me"); me != "" && me != string(presence.VisitorFromContext(r.Context()).User.ID) {
		return nil, echo.NewHTTPError(http.StatusForbidden, "That page was another member's. Nothing has changed.")
	}
	return r.PostForm, nil
}

// logout answers POST /logout. The session ends only in this browser. So the tracker ends the streams of all
// tabs of this browser, on every node. If it is the user's last browser, the user leaves.
func (s *site) logout(c echo.Context) error {
	if _, err := readForm(c); err != nil {
		return err
	}
	if user, ok := s.identify(c); ok {
		s.dropSession(c)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), time.Second)
		defer cancel()
		if err := s.tracker.SignOff(ctx, me(c), presence.VisitorFromContext(ctx).Browser); err != nil {
			s.log.Warn("a sign-out waits for the store", "user", user.ID, "err", err)
		}
	}
	s.forgetCookies(c)
	return c.Redirect(http.StatusSeeOther, "/")
}

// forgetCookies signs a browser out.
func (s *site) forgetCookies(c echo.Context) {
	setCookie(c, cookieName, "", -1)
	if s.sql != nil {
		setCookie(c, sessionCookie, "", -1)
	}
}

// setCookie sets a cookie of the site. If maxAge is 0, it lasts until the browser closes; a negative maxAge
// removes it. The scheme of the request is the one that a proxy forwards, so the cookie is Secure behind a
// proxy that ends TLS.
func setCookie(c echo.Context, name, value string, maxAge int) {
	c.SetCookie(&http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.Scheme() == "https",
	})
}

// localPath returns the path of target on this site, whatever host target names. So a forged form cannot
// redirect to another site.
func localPath(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "/"
	}
	local := url.URL{Path: path.Clean("/" + u.Path)}
	return local.EscapedPath()
}
