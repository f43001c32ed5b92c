// Package ginv1 tells presence who is on a gin site, from the requests that the site
// serves anyway. For each request it calls the site's Identify once, and puts the answer
// into the context of c.Request as a [presence.Visitor]. A page view is recorded at once
// in memory. A page never waits for presence, and never fails because of it.
//
// Mount it after the site's session middleware, before the pages and the presence
// endpoints. Each page is rendered for its request:
//
//	router.Use(sessions, ginv1.Presence(tracker, identify))
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
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/render"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Config configures the middleware. Its Identify and Skipper are given gin's context.
type Config = core.Config[*gin.Context]

// Presence returns a middleware with the default [Config]. identify returns the user of a
// request and true, or false for a guest; [core.Config] says more.
//
// It panics if identify is nil, or if the tracker's Age is under 2 min, which needs a
// shorter Throttle in the Config.
func Presence(tracker *track.Tracker, identify func(*gin.Context) (presence.User, bool)) gin.HandlerFunc {
	return PresenceWithConfig(Config{Tracker: tracker, Identify: identify})
}

// PresenceWithConfig returns a middleware. It panics if the config is invalid; [New]
// returns an error instead.
func PresenceWithConfig(config Config) gin.HandlerFunc {
	mw, err := New(config)
	if err != nil {
		panic(err)
	}
	return mw
}

// New returns a middleware. The error is [presence.ErrInvalidConfig] and names every
// invalid field.
func New(config Config) (gin.HandlerFunc, error) {
	recorder, err := core.New(config)
	if err != nil {
		return nil, err
	}
	return func(c *gin.Context) {
		visit := recorder.Begin(c, c.Request, c.Writer.Header())
		defer visit.End()
		c.Request = visit.Request
		if visit.Cookies != nil {
			c.Writer = &writer{c.Writer, visit.Cookies}
		}
		c.Next()
		if !c.Writer.Written() {
			// gin writes the status of such an answer past c.Writer.
			visit.Cookies.Set(c.Writer.Header())
		}
	}, nil
}

// A writer sets cookies right before the writer below writes the header. Its WriteHeader
// is that writer's own, which only keeps the status.
type writer struct {
	gin.ResponseWriter
	cookies *core.Cookies
}

// before sets the cookies, unless what is written is only a status that comes before the
// answer, such as 103.
func (w *writer) before() {
	if status := w.Status(); w.Written() || status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.cookies.Set(w.Header())
	}
}

// WriteHeaderNow implements [gin.ResponseWriter].
func (w *writer) WriteHeaderNow() {
	w.before()
	w.ResponseWriter.WriteHeaderNow()
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(b []byte) (int, error) {
	w.before()
	return w.ResponseWriter.Write(b)
}

// WriteString implements [io.StringWriter].
func (w *writer) WriteString(s string) (int, error) {
	w.before()
	return w.ResponseWriter.WriteString(s)
}

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	w.before()
	w.ResponseWriter.Flush()
}

// Unwrap returns the writer below, which sets the cookies too.
func (w *writer) Unwrap() http.ResponseWriter { return w.cookies.Wrap(w.ResponseWriter) }

// An Executor executes templates for a request. templates.Widgets is one.
type Executor interface {
	// Execute writes the named template to w.
	Execute(w io.Writer, name string, data any, r *http.Request) error
}

// HTML returns a page that shows presence, for [gin.Context.Render]. It is for the visitor
// of the request. pages are the site's widgets:
//
//	c.Render(http.StatusOK, ginv1.HTML(c, widgets, "home", data))
//
// gin's own c.HTML does not serve, since it renders without the request. If the template
// fails, the error is in c.Errors and the answer is 500 without a body, unless the site
// writes another.
func HTML(c *gin.Context, pages Executor, name string, data any) render.Render {
	return &page{c.Request, pages, name, data}
}

type page struct {
	request *http.Request
	pages   Executor
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
