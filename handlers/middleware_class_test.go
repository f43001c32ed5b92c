package handlers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// atTheRoot calls test with sites whose endpoints share the root with their pages, and with what the middleware
// makes of a request.
func atTheRoot(t *testing.T, test func(t *testing.T, s *site, pass func(r *http.Request, user string) *http.Response)) {
	for name, open := range map[string]func(*testing.T, setup) *site{
		"plain":  newSite,
		"people": func(t *testing.T, o setup) *site { s, _ := newPeopleSite(t, o); return s },
		"feeds":  func(t *testing.T, o setup) *site { return newFeedSite(t, o).site },
		"all": func(t *testing.T, o setup) *site {
			o.presence.Directory = presencetest.NewMemoryDirectory()
			return newFeedSite(t, o).site
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, setup{presence: track.Config{Prefix: "/"}, handlers: handlers.Config{
					EndSession: func(context.Context, presence.UserID, presence.DeviceID) error { return nil },
				}})
				e := echo.New()
				e.Use(middleware.PresenceWithConfig(middleware.Config{Tracker: s.tracker, Identify: func(c echo.Context) (presence.User, bool) {
					return presence.User{ID: presence.UserID(c.Request().Header.Get("X-User"))}, true
				}}))
				e.Any("/*", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
				test(t, s, func(r *http.Request, user string) *http.Response {
					r.Header.Set("X-User", user)
					r.Header.Set("Accept", "text/html")
					w := httptest.NewRecorder()
					e.ServeHTTP(w, r)
					return w.Result()
				})
			})
		})
	}
}

// At the root, package middleware tells the endpoints from pages by their names (middleware/core, isEndpoint). A
// request for an endpoint is no page view.
func TestMiddlewareKnowsTheEndpoints(t *testing.T) {
	atTheRoot(t, func(t *testing.T, s *site, pass func(*http.Request, string) *http.Response) {
		for _, path := range append(s.handler.Endpoints(), "page") {
			user := "at_" + strings.ReplaceAll(path, "/", "_")
			if strings.HasSuffix(path, "/") {
				path += "x"
			}
			pass(httptest.NewRequest(http.MethodGet, "/"+path, nil), user)
		}
		time.Sleep(time.Second)
		if got := s.names(presence.Site); got != "at_page" {
			t.Errorf("got page views at %s, want one at /page: isEndpoint must name the others", got)
		}
	})
}

// Package middleware knows which requests hold their user online (middleware/core, classOf): after one of them
// the next page view is recorded, so the cookie that throttles page views is taken back. No other request of a
// page's script does that.
func TestMiddlewareKnowsTheStreams(t *testing.T) {
	atTheRoot(t, func(t *testing.T, s *site, pass func(*http.Request, string) *http.Response) {
		page := pass(httptest.NewRequest(http.MethodGet, "/page", nil), "alice")
		for path, e := range s.handler.Methods() {
			for _, method := range e.Methods {
				if method == http.MethodHead {
					continue // opens no stream
				}
				name := path
				if strings.HasSuffix(path, "/") {
					name += "x"
				}
				r := httptest.NewRequest(method, "/"+name, nil)
				for _, c := range page.Cookies() {
					r.AddCookie(c)
				}
				if got := len(pass(r, "alice").Cookies()) > 0; got != e.Holds {
					t.Errorf("%s /%s: is a stream for the middleware: %t, want %t", method, name, got, e.Holds)
				}
			}
		}
	})
}
