// Package ginv1 tells presence who is on a gin site, from the requests that the site
// serves anyway. For each request it calls the site's Identify once, and puts the answer
// into the context of c.Request as a [presence.Visitor]. A page view is recorded at once
// in memory. A page never waits for presence, and never fails because of it.
//
// [Presence] mounts a site of rollcall.New. By parts, mount the middleware after the site's session
// middleware, before the pages and the presence endpoints. Each page is rendered for its request:
//
//	router.Use(sessions, ginv1.PresenceWithConfig(ginv1.Config{Tracker: tracker, Identify: identify}))
//	router.Any("/presence/*path", gin.WrapH(handlers.New(tracker, handlers.Config{Widget: widgets.Handler()})))
//	router.GET("/", func(c *gin.Context) {
//		c.Render(http.StatusOK, ginv1.HTML(c, widgets, "home", data))
//	})
//
// The presence endpoints have streams, so no middleware may stand before them whose writer
// has no Unwrap, such as that of gin-contrib/gzip or gin-contrib/timeout. Mount these on
// the group of the pages.
//
// Package [core] says what a page view is and which cookies there are.
package ginv1

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/render"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
)

// Config configures the middleware. Its Identify and Skipper are given gin's context.
type Config = core.Config[*gin.Context]

// Presence returns the middleware for router.Use of a site, which is what rollcall.New returned. It serves the
// endpoints too. Mount it after the sessions, before the pages. If it stands before the sessions, the first page
// view of a user is a finding:
//
//	site, err := rollcall.New(nil, rollcall.Config{Views: views})
//	router.Use(sessions, ginv1.Presence(site, identify))
//	err = site.ListenAndServe(ctx, addr, router) // router.Run would let beats pass the sessions
//
// On a group it needs a route, which it answers: group.Any("/presence/*path", func(*gin.Context) {}), after
// group.Use. Config.Prefix must then be that path. Presence panics if identify is nil.
func Presence(site core.Site, identify func(*gin.Context) (presence.User, bool)) gin.HandlerFunc {
	m := site.Mount()
	record := core.Must(newRecord(core.Framed(m, identify, func(c *gin.Context) *http.Request { return c.Request })))
	return func(c *gin.Context) {
		if !m.Owns(c.Request) {
			record(c, c.Next)
			return
		}
		c.Status(http.StatusOK) // gin has set 404, because it found no route
		m.Front(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			c.Request = m.Restored(r)
			record(c, func() { m.Endpoints.ServeHTTP(c.Writer, c.Request) })
		})).ServeHTTP(c.Writer, c.Request)
		c.Abort()
	}
}

// PresenceWithConfig returns a middleware. It panics if the config is invalid; [New]
// returns an error instead.
func PresenceWithConfig(config Config) gin.HandlerFunc { return core.Must(New(config)) }

// New returns a middleware. The error is [presence.ErrInvalidConfig] and names every
// invalid field.
func New(config Config) (gin.HandlerFunc, error) {
	record, err := newRecord(config)
	if err != nil {
		return nil, err
	}
	return func(c *gin.Context) { record(c, c.Next) }, nil
}

// newRecord returns a function that records a request, and serves it by next.
func newRecord(config Config) (func(c *gin.Context, next func()), error) {
	recorder, err := core.New(config)
	if err != nil {
		return nil, err
	}
	return func(c *gin.Context, next func()) {
		visit := recorder.Begin(c, c.Request, c.Writer.Header())
		defer visit.End()
		c.Request = visit.Request
		if visit.Cookies != nil {
			c.Writer = &writer{c.Writer, visit.Cookies}
		}
		next()
		if !c.Writer.Written() {
			// gin writes the status of such an answer past c.Writer.
			visit.Cookies.Set(c.Writer.Header(), c.Writer.Status(), nil)
		}
		recorder.Recheck(c, &visit, c.Writer.Header())
	}, nil
}

// A writer sets cookies right before the writer below writes the header. Its WriteHeader
// is that writer's own, which only keeps the status.
type writer struct {
	gin.ResponseWriter
	cookies *core.Cookies
}

// before sets the cookies before the body begins, unless what is written is only a status that comes before the
// answer, such as 103.
func (w *writer) before(start []byte) {
	if status := w.Status(); w.Written() || status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.cookies.Set(w.Header(), status, start)
	}
}

// WriteHeaderNow implements [gin.ResponseWriter].
func (w *writer) WriteHeaderNow() {
	w.before(nil)
	w.ResponseWriter.WriteHeaderNow()
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(b []byte) (int, error) {
	w.before(b)
	return w.ResponseWriter.Write(b)
}

// WriteString implements [io.StringWriter].
func (w *writer) WriteString(s string) (int, error) {
	w.before([]byte(s))
	return w.ResponseWriter.WriteString(s)
}

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	w.before(nil)
	w.ResponseWriter.Flush()
}

// Unwrap returns the writer below, which sets the cookies too.
func (w *writer) Unwrap() http.ResponseWriter { return w.cookies.Wrap(w.ResponseWriter) }

// HTML returns a page that shows presence, for [gin.Context.Render]. It is for the visitor
// of the request. pages are the site's widgets:
//
//	c.Render(http.StatusOK, ginv1.HTML(c, widgets, "home", data))
//
// gin's own c.HTML does not serve, since it renders without the request. If the template
// fails, the error is in c.Errors and the answer is 500 without a body, unless the site
// writes another.
func HTML(c *gin.Context, pages core.Executor, name string, data any) render.Render {
	return &page{c.Request, pages, name, data}
}

type page struct {
	request *http.Request
	pages   core.Executor
	name    string
	data    any
}

// Render implements [render.Render].
func (h *page) Render(w http.ResponseWriter) error {
	h.WriteContentType(w)
	err := h.pages.Execute(w, h.name, h.data, h.request)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError) // for a site that does not look at c.Errors
	}
	return err
}

// WriteContentType implements [render.Render].
func (h *page) WriteContentType(w http.ResponseWriter) {
	if header := w.Header(); header["Content-Type"] == nil {
		header.Set("Content-Type", "text/html; charset=utf-8")
	}
}
