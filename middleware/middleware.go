package middleware

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// Presence returns a middleware with the default [Config]. Mount it after the
// site's session middleware, so that identify finds what that has found:
//
//	e.Use(sessions, middleware.Presence(tracker, identify))
//
// It panics if identify is nil, or if the tracker's Age is under 2 min, which needs a
// shorter [Config.Throttle].
func Presence(tracker *presence.Tracker, identify Identify) echo.MiddlewareFunc {
	return PresenceWithConfig(Config{Tracker: tracker, Identify: identify})
}

// PresenceWithConfig returns a middleware. It panics if the config is invalid, as Echo's
// own middleware does; [Config.ToMiddleware] returns an error instead.
func PresenceWithConfig(config Config) echo.MiddlewareFunc {
	mw, err := config.ToMiddleware()
	if err != nil {
		panic(err)
	}
	return mw
}

// ToMiddleware returns the middleware. The error is [presence.ErrInvalidConfig] and names
// every invalid field.
func (c Config) ToMiddleware() (echo.MiddlewareFunc, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	m := &middleware{
		Config: c,
		faults: newFaults(c.Tracker),
		recent: newRecent(c.Throttle.Milliseconds()),
		prefix: "/presence",
	}
	if c.Tracker != nil {
		m.prefix = c.Tracker.Config().Prefix
		// Load the topic: a cookie throttles only a visitor who is known to be online.
		_, _ = c.Tracker.View(context.Background(), c.Topic)
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { return m.serve(c, next) }
	}, nil
}

// middleware is a Config at work. It may be used concurrently.
type middleware struct {
	Config
	prefix string // of the presence endpoints, without a slash at the end; "": the root
	faults *faults
	recent *recent // signed-in visitors without cookies
}

// serve puts the visitor into the request's context, and records a page view.
func (m *middleware) serve(c echo.Context, next echo.HandlerFunc) error {
	if m.Skipper != nil && m.Skipper(c) {
		return next(c)
	}
	r := c.Request()
	with := &requestWithVisitor{context: presence.VisitorContext{Context: r.Context()}}
	visitor := &with.context.Visitor
	signedIn := m.identify(c, &visitor.User)
	v := visit{m: m, c: c, class: m.classOf(r), cookies: readCookies(r.Header["Cookie"], m.CookieName)}
	switch {
	case !signedIn:
		visitor.Guest = v.seeGuest()
	case m.Tracker != nil && !visitor.User.Hidden:
		v.seeUser(&visitor.User)
		if v.class.expires() {
			defer m.recent.remove(visitor.User.ID) // as a stamp of 0 does for visitors with cookies
		}
	}
	with.request = *r.WithContext(&with.context) // inlined: no other copy is allocated
	c.SetRequest(&with.request)
	return next(c)
}

// A requestWithVisitor is a copy of a request and its context: the one allocation that
// presence costs a page.
type requestWithVisitor struct {
	request http.Request
	context presence.VisitorContext
}

// identify calls the site's Identify, and reports whether the visitor is a user. After a
// panic or with an invalid user the visitor is a guest.
func (m *middleware) identify(c echo.Context, user *presence.User) (signedIn bool) {
	defer func() {
		if p := recover(); p != nil {
			m.faults.identifyPanicked(p)
			signedIn = false
		}
	}()
	found, signedIn := m.Identify(c)
	if !signedIn {
		return false
	}
	if err := found.Validate(); err != nil {
		m.faults.invalidUser(err)
		return false
	}
	*user = found
	return true
}

// A class is what a request means to presence.
type class uint8

const (
	viewing   class = iota // a page view, if isPageView says so
	streaming              // asks a presence endpoint for events: holds a user online
	joining                // a beat: the stream of another tab holds the page of the latest view
	changing               // may change who the visitor is
	setting                // sets the visitor's status
	other                  // any other request to a presence endpoint
)

// expires reports whether the user's next page view must be recorded, even if the last
// one was a moment ago.
func (c class) expires() bool { return c == streaming || c == joining || c == changing }

func (m *middleware) classOf(r *http.Request) class {
	under, ok := m.endpoint(r.URL.Path)
	if !ok {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions:
			return viewing
		}
		return changing
	}
	switch {
	case r.Method == http.MethodGet && (under == "/events" || under == "/ws" || under == "/poll"):
		return streaming
	case r.Method == http.MethodPost && under == "/beat" && strings.Contains("&"+r.URL.RawQuery+"&", "&joined=1&"):
		return joining
	case r.Method == http.MethodPut:
		return setting
	}
	return other
}

// endpoint returns the part of a path below the prefix, and false for a path outside
// the presence endpoints. With a prefix, all paths below it are theirs. Without one,
// they share the root with the site's pages, so only their own names count.
func (m *middleware) endpoint(path string) (under string, ok bool) {
	if m.prefix == "" {
		switch path {
		case "/roster", "/users", "/events", "/ws", "/poll", "/beat", "/leave", "/status", "/widget":
			return path, true
		}
		return path, strings.HasPrefix(path, "/assets/")
	}
	under, ok = strings.CutPrefix(path, m.prefix)
	return under, ok && (under == "" || under[0] == '/')
}
