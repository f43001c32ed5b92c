// Package middleware tells presence who is on an Echo v4 site, from the requests that the
// site serves anyway. For each request it calls the site's Identify once, and puts the
// answer into the request's context as a [presence.Visitor]. A page view is recorded at
// once in memory. A page never waits for presence, and never fails because of it.
//
// Package [core] says what a page view is and which cookies there are. The packages
// nethttp, echov5 and ginv1 are the same for other frameworks.
package middleware

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
)

// Identify returns the visitor of a request: a user of the site and true, or false for a
// guest. [core.Config] says more.
type Identify = func(c echo.Context) (presence.User, bool)

// Config configures the middleware. Its Identify and Skipper are given Echo's context.
type Config = core.Config[echo.Context]

// PresenceWithConfig returns a middleware for a site without rollcall.New, which mounts the endpoints itself.
// Mount it after the site's session middleware, so that Identify finds what that has found:
//
//	e.Use(sessions, middleware.PresenceWithConfig(middleware.Config{Tracker: tracker, Identify: identify}))
//
// It panics if the config is invalid, as Echo's own middleware does; [New] returns an error instead.
func PresenceWithConfig(config Config) echo.MiddlewareFunc { return core.Must(New(config)) }

// New returns a middleware. The error is [presence.ErrInvalidConfig] and names every
// invalid field.
func New(config Config) (echo.MiddlewareFunc, error) {
	recorder, err := core.New(config)
	if err != nil {
		return nil, err
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			response := c.Response()
			visit := recorder.Begin(c, c.Request(), response.Header())
			defer visit.End()
			c.SetRequest(visit.Request)
			if visit.Cookies != nil {
				// A page may write to response.Writer, for which Echo calls no hook.
				response.Writer = visit.Cookies.Wrap(response.Writer)
				// Middleware before this one, such as gzip, may put its own writer back before
				// Echo's error handler writes.
				response.Before(func() {
					if response.Status >= http.StatusOK { // others come before the answer
						visit.Cookies.Set(response.Header(), response.Status, nil)
					}
				})
			}
			err := next(c)
			if err == nil { // otherwise Echo's error handler writes the response
				visit.Cookies.Set(response.Header(), http.StatusOK, nil) // the handler may have written nothing
				recorder.Recheck(c, &visit, response.Header())
			}
			return err
		}
	}, nil
}
