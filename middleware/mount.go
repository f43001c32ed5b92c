package middleware

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
)

// Presence mounts a site's presence on an Echo, and returns the middleware for e.Use or e.Pre. site is what
// rollcall.New returned:
//
//	site, err := rollcall.New(nil, rollcall.Config{Views: views})
//	e.Use(middleware.Presence(e, site, identify))
//	err = site.ListenAndServe(ctx, addr, e) // or e.Start(addr)
//
// The order of e.Use does not matter: identify is asked after all of it, so it finds what the site's sessions
// have found. Presence serves the endpoints, answers beats, scripts and styles before all other middleware,
// attaches e.Server and e.TLSServer, and sets e.Renderer to render Config.Views if that is nil. e.Shutdown
// closes the site, and site.Close shuts e down.
//
// The middleware may be used on a group in place of e: then the pages of the group alone count. Where the
// site's sessions are the middleware of a group, use it there after the sessions, and name the group, so that
// the endpoints are in it. Config.Prefix must be below the path of the group:
//
//	app := e.Group("/app", sessions)
//	app.Use(middleware.Presence(e, site, identify, app)) // Config.Prefix is "/app/presence"
//
// It panics if identify is nil, or Config.Prefix is not below the path of the group.
func Presence(e *echo.Echo, site core.Site, identify Identify, group ...*echo.Group) echo.MiddlewareFunc {
	m := &mount{Mount: site.Mount(), grouped: len(group) > 0}
	m.record = PresenceWithConfig(core.Framed(m.Mount, identify, echo.Context.Request))
	m.key = "presence " + m.Paths[0]
	if !m.grouped {
		m.routes(e.Any, m.Paths)
	}
	complete := func() { e.Use(m.last) }
	if m.grouped {
		paths := below(group[0], m.Paths)
		complete = func() { m.routes(group[0].Any, paths) } // the group has all of its middleware then
	}
	// A request passes e.Pre before e reads its routes and its middleware. So the first one may complete them.
	complete = sync.OnceFunc(complete)
	e.Pre(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			complete()
			return m.front(c, next)
		}
	})
	m.Attach(e.Server)
	m.Attach(e.TLSServer)
	if e.Renderer == nil && m.Pages != nil {
		e.Renderer = renderer{m.Pages}
	}
	return m.use
}

// below returns paths without the path of a group. It panics if none is below that.
func below(g *echo.Group, paths []string) (found []string) {
	prefix := g.RouteNotFound("", echo.NotFoundHandler).Path // as g.Use does
	for _, path := range paths {
		if under, ok := strings.CutPrefix(path, prefix+"/"); ok {
			found = append(found, "/"+under)
		}
	}
	if found == nil {
		panic(fmt.Errorf("%w: Config.Prefix is %s, and the group of presence has the path %s: set Config.Prefix to %[3]s/presence",
			presence.ErrInvalidConfig, paths[0], prefix))
	}
	return found
}

// A mount is a site's presence on one Echo.
type mount struct {
	core.Mount
	record  echo.MiddlewareFunc // identifies and records
	grouped bool                // the endpoints are in a group
	key     string              // in an echo.Context: true once use has marked it, and false once last has found it unmarked
	met     atomic.Bool         // a user has asked for an endpoint
	used    atomic.Bool         // a site's request has passed use
}

// routes mounts the endpoints.
func (m *mount) routes(add func(string, echo.HandlerFunc, ...echo.MiddlewareFunc) []*echo.Route, paths []string) {
	for _, path := range paths {
		add(path+"/*", m.endpoint)
	}
}

// use is what the site mounts. By e.Use it only marks a request, which last records. On a group it comes after
// last, and records.
func (m *mount) use(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		m.used.Store(true)
		switch c.Get(m.key) {
		case true:
			m.Config.Tracker.Found(presence.PassedTwice)
		case nil:
			if m.grouped {
				return m.count(c, next)
			}
			c.Set(m.key, true)
		default:
			return m.count(c, next)
		}
		return next(c)
	}
}

// last is the last middleware of e.Use.
func (m *mount) last(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Get(m.key) == true {
			return m.count(c, next)
		}
		c.Set(m.key, false)
		return next(c)
	}
}

// count records a request of the site's own.
func (m *mount) count(c echo.Context, next echo.HandlerFunc) error {
	if m.Owns(c.Request()) {
		return next(c) // to endpoint
	}
	return m.record(next)(c)
}

// endpoint is the handler of the endpoints. All middleware of its route has run.
func (m *mount) endpoint(c echo.Context) error {
	c.SetRequest(m.Restored(c.Request()))
	return m.record(func(c echo.Context) error {
		if presence.VisitorFromContext(c.Request().Context()).SignedIn() {
			m.met.Store(true)
			if c.QueryParam("me") == "" && !m.used.Load() { // a page that has passed use names its user, at whichever node
				m.Config.Tracker.Found(presence.NoMiddleware, "cause", "nothing uses what middleware.Presence has returned: e.Use(middleware.Presence(…))")
			}
		} else if c.Get(m.key) == false && c.QueryParam("me") != "" && !m.met.Load() {
			m.Config.Tracker.Found(presence.NoMiddleware, "cause", "presence is used on a group, which its argument group does not name")
		}
		m.Endpoints.ServeHTTP(c.Response(), c.Request())
		return nil
	})(c)
}

// front stands before the router. It has Echo answer errors, so that it learns the status of what answers in place
// of an endpoint.
func (m *mount) front(c echo.Context, next echo.HandlerFunc) error {
	if !m.Owns(c.Request()) {
		return next(c)
	}
	m.Front(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.SetRequest(r)
		c.Response().Writer = w
		if err := next(c); err != nil {
			c.Error(err)
		}
	})).ServeHTTP(c.Response().Writer, c.Request())
	return nil
}

// A renderer renders the site's templates.
type renderer struct{ pages core.Executor }

// Render implements [echo.Renderer].
func (r renderer) Render(w io.Writer, name string, data any, c echo.Context) error {
	return r.pages.Execute(w, name, data, c.Request())
}
