package echov5_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v5"
	echomiddleware "github.com/labstack/echo/v5/middleware"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/middleware/echov5"
	"github.com/rollcall-go/rollcall/middleware/internal/adaptertest"
	"github.com/rollcall-go/rollcall/presence"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		New: newEcho,
		Pages: map[string]int{
			"/string": 200, "/html": 200, "/render": 200, "/stream": 200, "/response": 200, "/raw": 200, "/raw-flush": 200,
			"/no-content": 204, "/redirect": 303, "/error": 500, "/forbidden": 403, "/panic": 500,
		},
		Others:    []string{"gzip", "timeout", "wrapped", "body dump", "context timeout", "request logger"},
		Streaming: []string{"gzip", "body dump", "context timeout", "request logger"},
	})
}

// page is what a template of the site is: its name does not matter.
type page struct{}

func (page) Execute(w io.Writer, _ string, _ any, r *http.Request) error {
	if !presence.HasVisitor(r.Context()) {
		return errors.New("the request has no visitor")
	}
	_, err := io.WriteString(w, adaptertest.PageBody)
	return err
}

// newEcho returns a site on Echo v5.
func newEcho(s adaptertest.Site) http.Handler {
	e := echo.New()
	e.Logger = slog.New(slog.DiscardHandler)
	e.Renderer = echov5.NewRenderer(page{})
	use := func(name string) []echo.MiddlewareFunc {
		switch name {
		case "gzip":
			return []echo.MiddlewareFunc{echomiddleware.Gzip()}
		case "timeout":
			return []echo.MiddlewareFunc{timeout, echomiddleware.Recover()}
		case "wrapped": // by a writer that Echo does not know
			return []echo.MiddlewareFunc{func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c *echo.Context) error {
					c.SetResponse(unknown{c.Response()})
					return next(c)
				}
			}}
		case "context timeout":
			return []echo.MiddlewareFunc{echomiddleware.ContextTimeout(time.Hour)}
		case "body dump":
			return []echo.MiddlewareFunc{echomiddleware.BodyDump(func(*echo.Context, []byte, []byte, error) {})}
		case "request logger":
			return []echo.MiddlewareFunc{echomiddleware.RequestLoggerWithConfig(echomiddleware.RequestLoggerConfig{
				LogStatus: true, HandleError: true, LogValuesFunc: func(*echo.Context, echomiddleware.RequestLoggerValues) error { return nil },
			})}
		}
		return nil
	}
	e.Use(echomiddleware.Recover())
	e.Use(use(s.Before)...)
	e.Use(echov5.PresenceWithConfig(echov5.Config{
		Tracker:  s.Tracker,
		Identify: func(c *echo.Context) (presence.User, bool) { return s.Identify(c.Request()) },
		Skipper:  func(c *echo.Context) bool { return s.Skipper(c.Request()) },
	}))
	e.Any("/presence/*", echo.WrapHandler(s.Presence))
	pages := e.Group("", use(s.After)...)
	pages.Any("/*", echo.WrapHandler(s.Page))
	for path, h := range map[string]echo.HandlerFunc{
		"/string": func(c *echo.Context) error { return c.String(200, adaptertest.PageBody) },
		"/html":   func(c *echo.Context) error { return c.HTML(200, adaptertest.PageBody) },
		"/render": func(c *echo.Context) error { return c.Render(200, "page", nil) },
		"/stream": func(c *echo.Context) error {
			return c.Stream(200, "text/html", strings.NewReader(adaptertest.PageBody))
		},
		"/response": func(c *echo.Context) error { _, err := io.WriteString(c.Response(), adaptertest.PageBody); return err },
		"/raw": func(c *echo.Context) error {
			_, err := io.WriteString(inner(c), adaptertest.PageBody)
			return err
		},
		"/raw-flush": func(c *echo.Context) error {
			if err := http.NewResponseController(inner(c)).Flush(); err != nil && s.Before+s.After != "timeout" && s.Before+s.After != "wrapped" {
				return err
			}
			_, err := io.WriteString(inner(c), adaptertest.PageBody)
			return err
		},
		"/no-content": func(c *echo.Context) error { return c.NoContent(204) },
		"/redirect":   func(c *echo.Context) error { return c.Redirect(303, "/string") },
		"/error":      func(*echo.Context) error { return errors.New("sorry") },
		"/forbidden":  func(*echo.Context) error { return echo.ErrForbidden },
		"/panic":      func(*echo.Context) error { panic("sorry") },
	} {
		pages.GET(path, h)
	}
	return e
}

// timeout handles errors itself. Behind echo.WrapMiddleware the answer to an error would be
// an empty 200, since Echo's error handler is called after http.TimeoutHandler has ended.
func timeout(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c *echo.Context) error {
		outer := c.Response()
		defer c.SetResponse(outer)
		http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.SetRequest(r)
			c.SetResponse(echo.NewResponse(w, c.Logger()))
			if err := next(c); err != nil {
				c.Echo().HTTPErrorHandler(c, err)
			}
		}), time.Minute, "too late").ServeHTTP(outer, c.Request())
		return nil
	}
}

// inner returns the writer below Echo's own, as a page may write to it.
func inner(c *echo.Context) http.ResponseWriter {
	response, err := echo.UnwrapResponse(c.Response())
	if err != nil {
		return c.Response()
	}
	return response.ResponseWriter
}

type unknown struct{ http.ResponseWriter }

// Streams outlive the timeouts that Echo's own server has.
func TestStartConfig(t *testing.T) {
	adaptertest.RunServer(t, adaptertest.Adapter{New: newEcho}, func(ctx context.Context, site http.Handler, l net.Listener) error {
		return echo.StartConfig{Listener: l, HideBanner: true, HidePort: true}.Start(ctx, site)
	})
}
