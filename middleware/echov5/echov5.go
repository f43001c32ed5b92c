// Package echov5 tells presence who is on an Echo v5 site, from the requests that the site
// serves anyway. For each request it calls the site's Identify once, and puts the answer
// into the request's context as a [presence.Visitor]. A page view is recorded at once in
// memory. A page never waits for presence, and never fails because of it.
//
// [Presence] mounts a site of rollcall.New. By parts, mount the middleware after the site's session
// middleware, before the pages and the presence endpoints. A [Renderer] renders the pages:
//
//	e.Use(sessions, echov5.PresenceWithConfig(echov5.Config{Tracker: tracker, Identify: identify}))
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
)

// Config configures the middleware. Its Identify and Skipper are given Echo's context.
type Config = core.Config[*echo.Context]

// Presence mounts a site's presence on an Echo, and returns the middleware for e.Use. site is what
// rollcall.New returned:
//
//	site, err := rollcall.New(nil, rollcall.Config{Views: views})
//	e.Use(sessions, echov5.Presence(e, site, identify))
//	err = site.ListenAndServe(ctx, addr, e)
//
// Mount it after the sessions. If it stands before them, the first page view of a user is a finding. Presence
// serves the endpoints, answers beats, scripts and styles before all other middleware, and sets e.Renderer to
// render Config.Views if that is nil. It panics if identify is nil.
func Presence(e *echo.Echo, site core.Site, identify func(*echo.Context) (presence.User, bool)) echo.MiddlewareFunc {
	m := site.Mount()
	record := PresenceWithConfig(core.Framed(m, identify, (*echo.Context).Request))
	endpoints := record(echo.WrapHandler(m.Endpoints))
	for _, path := range m.Paths {
		e.Any(path+"/*", func(c *echo.Context) error {
			c.SetRequest(m.Restored(c.Request()))
			return endpoints(c)
		})
	}
	e.Pre(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) (err error) {
			if !m.Owns(c.Request()) {
				return next(c)
			}
			m.Front(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				c.SetRequest(r)
				err = next(c)
			})).ServeHTTP(c.Response(), c.Request())
			return err
		}
	})
	if e.Renderer == nil && m.Pages != nil {
		e.Renderer = NewRenderer(m.Pages)
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		recorded := record(next)
		return func(c *echo.Context) error {
			if m.Owns(c.Request()) {
				return next(c)
			}
			return recorded(c)
		}
	}
}

// PresenceWithConfig returns a middleware. It panics if the config is invalid, as Echo's
// own middleware does; [New] returns an error instead.
func PresenceWithConfig(config Config) echo.MiddlewareFunc { return core.Must(New(config)) }

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
			if visit.Cookies != nil {
				wrap(c, visit.Cookies)
			}
			err := next(c)
			if err == nil { // otherwise Echo's error handler writes the response
				visit.Cookies.Set(c.Response().Header(), http.StatusOK, nil) // the handler may have written nothing
				recorder.Recheck(c, &visit, c.Response().Header())
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

// A Renderer is an [echo.Renderer] of pages that show presence. Make it with
// [NewRenderer]. It may be used concurrently if its Executor may.
type Renderer struct{ pages core.Executor }

// NewRenderer returns a Renderer. pages are the site's widgets:
//
//	e.Renderer = echov5.NewRenderer(widgets)
func NewRenderer(pages core.Executor) *Renderer { return &Renderer{pages} }

// Render writes the named template to w, for the visitor of the request.
func (r *Renderer) Render(c *echo.Context, w io.Writer, name string, data any) error {
	return r.pages.Execute(w, name, data, c.Request())
}
