package ginv1_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/middleware/ginv1"
	"github.com/rollcall-go/rollcall/middleware/internal/adaptertest"
	"github.com/rollcall-go/rollcall/presence"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	leak.VerifyTestMain(m)
}

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		New: newGin,
		Pages: map[string]int{
			"/string": 200, "/data": 200, "/html": 200, "/stream": 200, "/writer": 200, "/unwrapped": 200, "/flush": 200,
			"/status": 204, "/status-now": 204, "/no-content": 204, "/redirect": 303, "/abort": 403, "/error": 500, "/panic": 500,
		},
		Others:    []string{"gzip", "logger"},
		Streaming: []string{"logger"}, // the writer of gin-contrib/gzip has no Unwrap
	})
}

// page is what a template of the site is: its name does not matter.
type page struct{}

func (page) Execute(w io.Writer, name string, _ any, r *http.Request) error {
	if !presence.HasVisitor(r.Context()) || name == "broken" {
		return errors.New("the template fails")
	}
	_, err := io.WriteString(w, adaptertest.PageBody)
	return err
}

// newGin returns a site on gin.
func newGin(s adaptertest.Site) http.Handler {
	e := gin.New()
	e.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }))
	use := func(name string) gin.HandlerFunc {
		switch name {
		case "gzip":
			return packed
		case "logger":
			return gin.LoggerWithWriter(io.Discard)
		}
		return func(*gin.Context) {}
	}
	e.Use(use(s.Before))
	e.Use(ginv1.PresenceWithConfig(ginv1.Config{
		Tracker:  s.Tracker,
		Identify: func(c *gin.Context) (presence.User, bool) { return s.Identify(c.Request) },
		Skipper:  func(c *gin.Context) bool { return s.Skipper(c.Request) },
	}))
	e.Any("/presence/*path", gin.WrapH(s.Presence))
	e.NoRoute(use(s.After), func(c *gin.Context) { c.Status(http.StatusOK) }, gin.WrapH(s.Page)) // gin has no route for all other paths
	pages := e.Group("/", use(s.After))
	for path, h := range map[string]gin.HandlerFunc{
		"/string": func(c *gin.Context) { c.String(200, adaptertest.PageBody) },
		"/data":   func(c *gin.Context) { c.Data(200, "text/html", []byte(adaptertest.PageBody)) },
		"/html":   func(c *gin.Context) { c.Render(200, ginv1.HTML(c, page{}, "home", nil)) },
		"/stream": func(c *gin.Context) {
			c.DataFromReader(200, -1, "text/html", strings.NewReader(adaptertest.PageBody), nil)
		},
		"/writer":     func(c *gin.Context) { _, _ = io.WriteString(c.Writer, adaptertest.PageBody) },
		"/unwrapped":  func(c *gin.Context) { _, _ = io.WriteString(unwrap(c), adaptertest.PageBody) },
		"/flush":      func(c *gin.Context) { c.Writer.Flush(); _, _ = c.Writer.WriteString(adaptertest.PageBody) },
		"/status":     func(c *gin.Context) { c.Status(204) },
		"/status-now": func(c *gin.Context) { c.Status(204); c.Writer.WriteHeaderNow() },
		"/no-content": func(c *gin.Context) { c.Data(204, "text/html", nil) },
		"/redirect":   func(c *gin.Context) { c.Redirect(303, "/string") },
		"/abort":      func(c *gin.Context) { c.AbortWithStatus(403) },
		"/error":      func(c *gin.Context) { c.Render(200, ginv1.HTML(c, page{}, "broken", nil)) },
		"/panic":      func(*gin.Context) { panic("sorry") },
	} {
		pages.GET(path, h)
	}
	return e
}

// unwrap returns the writer below c.Writer, if c.Writer says so.
func unwrap(c *gin.Context) http.ResponseWriter {
	if w, ok := c.Writer.(interface{ Unwrap() http.ResponseWriter }); ok {
		return w.Unwrap()
	}
	return c.Writer
}

// packed does what gin-contrib/gzip does with the writer.
func packed(c *gin.Context) {
	if !strings.Contains(c.Request.Header.Get("Accept-Encoding"), "gzip") {
		return
	}
	below := c.Writer
	w := &packer{ResponseWriter: below, to: gzip.NewWriter(below)}
	c.Header("Content-Encoding", "gzip")
	c.Writer = w
	defer func() {
		switch {
		case w.Status() >= 400:
			w.Header().Del("Content-Encoding")
		case c.Writer.Size() >= 0:
			_ = w.to.Close()
		}
	}()
	c.Next()
}

type packer struct {
	gin.ResponseWriter
	to *gzip.Writer
}

func (p *packer) WriteString(s string) (int, error) { return p.Write([]byte(s)) }

func (p *packer) Write(b []byte) (int, error) {
	p.Header().Del("Content-Length")
	if p.Status() >= 400 {
		p.Header().Del("Content-Encoding")
		return p.ResponseWriter.Write(b)
	}
	return p.to.Write(b)
}

func (p *packer) Flush() {
	_ = p.to.Flush()
	p.ResponseWriter.Flush()
}
