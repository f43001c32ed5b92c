// Package echov5 tells presence who is on an Echo v5 site, from the requests that the site
// serves anyway. For each request it calls the site's Identify once, and puts the answer
// into the request's context as a [presence.Visitor]. A page view is recorded at once in
// memory. A page never waits for presence, and never fails because of it.
//
// Mount it after the site's session middleware, before the pages and the presence
// endpoints. A [Renderer] renders the pages:
//
//	e.Use(sessions, echov5.Presence(tracker, identify))
//	e.Any("/presence/*", echo.WrapHandler(handlers.New(tracker, handlers.Config{Widget: widgets.Handler()})))
//	e.Renderer = echov5.NewRenderer(widgets)
//
// The presence endpoints have streams, so no middleware that collects answers may stand
// before them, such as http.TimeoutHandler. Streams outlive the timeouts of an http.Server
// and of [echo.StartConfig].
//
// Package [core] says what a page view is and which cookies there are.
package echov5

import (
	"io"
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Config configures the middleware. Its Identify and Skipper are given Echo's context.
type Config = core.Config[*echo.Context]

// Presence returns a middleware with the default [Config]. identify returns the user of a
// request and true, or false for a guest; [core.Config] says more.
//
// It panics if identify is nil, or if the tracker's Age is under 2 min, which needs a
// shorter Throttle in the Config.
func Presence(tracker *track.Tracker, identify func(*echo.Context) (presence.User, bool)) echo.MiddlewareFunc {
	return PresenceWithConfig(Config{Tracker: tracker, Identify: identify})
}

// PresenceWithConfig returns a middleware. It panics if the config is invalid, as Echo's
// own middleware does; [New] returns an error instead.
func PresenceWithConfig(config Config) echo.MiddlewareFunc {
	mw, err := New(config)
	if err != nil {
		panic(err)
	}
	return mw
}

// New returns a middleware. The error is [presence.ErrInvalidConfig] and names every
// invalid field.
func New(config Config) (echo.MiddlewareFunc, error) {
	recorder, err := core.New(config)
	if err != nil {
		return nil, err
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			visit := recorder.Begin(c, c.Request(), c.Response().Header())
			defer visit.End()
			c.SetRequest(visit.Request)
			if visit.Cookies == nil {
				return next(c)
			}
			wrap(c, visit.Cookies)
			err := next(c)
			if err == nil { // otherwise Echo's error handler writes the response
				visit.Cookies.Set(c.Response().Header()) // the handler may have written nothing
			}
			return err
		}
	}, nil
}

// wrap wraps the writer below Echo's own, and leaves it there: the error handler writes
// after the middleware has returned, and other middleware may have put its writer back by
// then.
func wrap(c *echo.Context, cookies *core.Cookies) {
	if response, err := echo.UnwrapResponse(c.Response()); err == nil {
		response.ResponseWriter = cookies.Wrap(response.ResponseWriter)
	} else {
		c.SetResponse(cookies.Wrap(c.Response()))
	}
}

// An Executor executes templates for a request. templates.Widgets is one.
type Executor interface {
	// Execute writes the named template to w.
	Execute(w io.Writer, name string, data any, r *http.Request) error
}

// A Renderer is an [echo.Renderer] of pages that show presence. Make it with
// [NewRenderer]. It may be used concurrently if its Executor may.
type Renderer struct{ pages Executor }

// NewRenderer returns a Renderer. pages are the site's widgets:
//
//	e.Renderer = echov5.NewRenderer(widgets)
func NewRenderer(pages Executor) *Renderer { return &Renderer{pages} }

// Render writes the named template to w, for the visitor of the request.
func (r *Renderer) Render(c *echo.Context, w io.Writer, name string, data any) error {
	return r.pages.Execute(w, name, data, c.Request())
}
