package middleware_test

import (
	"errors"
	"html/template"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/middleware/internal/adaptertest"
	"github.com/rollcall-go/rollcall/presence"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		New: newEcho,
		Pages: map[string]int{
			"/string": 200, "/html": 200, "/render": 200, "/stream": 200, "/response": 200, "/flush": 200,
			"/raw": 200, "/raw-flush": 200, "/raw-copy": 200, "/raw-header": 204, "/no-content": 204, "/redirect": 303, "/error": 500, "/forbidden": 403, "/panic": 500,
		},
		Others:    []string{"gzip", "timeout", "body dump", "context timeout", "request logger"},
		Streaming: []string{"gzip", "body dump", "context timeout", "request logger"},
	})
}

// newEcho returns a site on Echo v4.
func newEcho(s adaptertest.Site) http.Handler {
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if presence.HasVisitor(c.Request().Context()) { // otherwise the test finds no answer
			e.DefaultHTTPErrorHandler(err, c)
		}
	}
	e.Renderer = &echo.TemplateRenderer{Template: template.Must(template.New("page").Parse(adaptertest.PageBody))}
	e.Use(echomiddleware.RecoverWithConfig(echomiddleware.RecoverConfig{DisablePrintStack: true}))
	use := func(name string) []echo.MiddlewareFunc {
		switch name {
		case "gzip":
			return []echo.MiddlewareFunc{echomiddleware.Gzip()}
		case "timeout":
			//lint:ignore SA1019 sites have this middleware, and streams must get along with it
			return []echo.MiddlewareFunc{echomiddleware.TimeoutWithConfig(echomiddleware.TimeoutConfig{Timeout: time.Minute})}
		case "context timeout":
			return []echo.MiddlewareFunc{echomiddleware.ContextTimeout(time.Hour)}
		case "body dump":
			return []echo.MiddlewareFunc{echomiddleware.BodyDump(func(echo.Context, []byte, []byte) {})}
		case "request logger":
			return []echo.MiddlewareFunc{echomiddleware.RequestLoggerWithConfig(echomiddleware.RequestLoggerConfig{
				LogStatus: true, HandleError: true, LogValuesFunc: func(echo.Context, echomiddleware.RequestLoggerValues) error { return nil },
			})}
		}
		return nil
	}
	e.Use(use(s.Before)...)
	e.Use(middleware.PresenceWithConfig(middleware.Config{
		Tracker:  s.Tracker,
		Identify: func(c echo.Context) (presence.User, bool) { return s.Identify(c.Request()) },
		Skipper:  func(c echo.Context) bool { return c.Path() != "" && s.Skipper(c.Request()) }, // it knows the route
	}))
	e.Any("/presence/*", echo.WrapHandler(s.Presence))
	pages := e.Group("", use(s.After)...)
	pages.Any("/*", echo.WrapHandler(s.Page))
	for path, h := range map[string]echo.HandlerFunc{
		"/string":   func(c echo.Context) error { return c.String(200, adaptertest.PageBody) },
		"/html":     func(c echo.Context) error { return c.HTML(200, adaptertest.PageBody) },
		"/render":   func(c echo.Context) error { return c.Render(200, "page", nil) },
		"/stream":   func(c echo.Context) error { return c.Stream(200, "text/html", strings.NewReader(adaptertest.PageBody)) },
		"/response": func(c echo.Context) error { _, err := io.WriteString(c.Response(), adaptertest.PageBody); return err },
		"/flush": func(c echo.Context) error {
			if s.Before+s.After != "timeout" { // there Echo panics
				c.Response().Flush()
			}
			_, err := io.WriteString(c.Response(), adaptertest.PageBody)
			return err
		},
		"/raw": func(c echo.Context) error {
			_, err := io.WriteString(c.Response().Writer, adaptertest.PageBody)
			return err
		},
		"/raw-flush": func(c echo.Context) error {
			if err := http.NewResponseController(c.Response().Writer).Flush(); err != nil && s.Before+s.After != "timeout" {
				return err
			}
			_, err := io.WriteString(c.Response().Writer, adaptertest.PageBody)
			return err
		},
		"/raw-copy": func(c echo.Context) error {
			_, err := io.Copy(c.Response().Writer, struct{ io.Reader }{strings.NewReader(adaptertest.PageBody)}) // by ReadFrom
			return err
		},
		"/raw-header": func(c echo.Context) error { c.Response().Writer.WriteHeader(204); return nil },
		"/no-content": func(c echo.Context) error { return c.NoContent(204) },
		"/redirect":   func(c echo.Context) error { return c.Redirect(303, "/string") },
		"/error":      func(echo.Context) error { return errors.New("sorry") },
		"/forbidden":  func(echo.Context) error { return echo.ErrForbidden },
		"/panic":      func(echo.Context) error { panic("sorry") },
	} {
		pages.GET(path, h)
	}
	return e
}
