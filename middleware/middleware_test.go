package middleware_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// What a visit is, package core tests. These tests are about Echo.

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

func newTracker(t testing.TB) *presence.Tracker {
	t.Helper()
	tracker, err := presence.New(memstore.New(), presence.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tracker
}

func alice(echo.Context) (presence.User, bool) { return presence.User{ID: "alice"}, true }

// get requests a page, and returns the response.
func get(e *echo.Echo, path string) *http.Response {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Result()
}

func TestOrderOfMiddlewares(t *testing.T) {
	var order []string
	session := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			order = append(order, "session")
			c.Set("user", "alice")
			return next(c)
		}
	}
	identify := func(c echo.Context) (presence.User, bool) {
		id, ok := c.Get("user").(string)
		order = append(order, "identify "+id)
		return presence.User{ID: presence.UserID(id)}, ok
	}
	after := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v := presence.VisitorFromContext(c.Request().Context())
			order = append(order, "after "+string(v.User.ID))
			return next(c)
		}
	}
	e := echo.New()
	e.Use(session, middleware.Presence(newTracker(t), identify), after)
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	get(e, "/")
	if want := []string{"session", "identify alice", "after alice"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

func TestErrorsGoToTheSitesHandler(t *testing.T) {
	e := echo.New()
	e.Use(middleware.Presence(newTracker(t), alice))
	teapot := errors.New("teapot")
	e.GET("/fails", func(echo.Context) error { return teapot })
	e.GET("/missing", func(echo.Context) error { return echo.ErrNotFound })
	var handled error
	var visitor presence.Visitor
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		handled = err
		visitor = presence.VisitorFromContext(c.Request().Context())
		_ = c.String(http.StatusTeapot, "sorry")
	}
	for path, want := range map[string]error{"/fails": teapot, "/missing": echo.ErrNotFound} {
		got := get(e, path)
		if !errors.Is(handled, want) || got.StatusCode != http.StatusTeapot {
			t.Errorf("got error %v and status %d, want %v and 418", handled, got.StatusCode, want)
		}
		if len(got.Cookies()) != 1 || visitor.User.ID != "alice" {
			t.Errorf("got %v set for visitor %q, want one for alice", got.Cookies(), visitor.User.ID)
		}
	}
}

// A page sets the cookie, however it is written.
func TestEachWayToWriteSetsTheCookie(t *testing.T) {
	for name, write := range map[string]echo.HandlerFunc{
		"Echo's method":        func(c echo.Context) error { return c.String(http.StatusOK, "a page") },
		"the response":         func(c echo.Context) error { _, err := io.WriteString(c.Response(), "a page"); return err },
		"the inner writer":     func(c echo.Context) error { _, err := io.WriteString(c.Response().Writer, "a page"); return err },
		"the inner header":     func(c echo.Context) error { c.Response().Writer.WriteHeader(http.StatusOK); return nil },
		"a flush":              func(c echo.Context) error { c.Response().Flush(); return nil },
		"a flush of the inner": func(c echo.Context) error { return http.NewResponseController(c.Response().Writer).Flush() },
		"a copy":               func(c echo.Context) error { _, err := io.Copy(c.Response().Writer, http.NoBody); return err },
		"no content":           func(c echo.Context) error { return c.NoContent(http.StatusNoContent) },
		"a redirect":           func(c echo.Context) error { return c.Redirect(http.StatusSeeOther, "/x") },
		"nothing":              func(echo.Context) error { return nil },
		"an error":             func(echo.Context) error { return echo.ErrForbidden },
	} {
		t.Run(name, func(t *testing.T) {
			e := echo.New()
			e.Use(middleware.Presence(newTracker(t), alice))
			e.GET("/", write)
			server := httptest.NewServer(e)
			defer server.Close()
			client := server.Client()
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			got, err := client.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			_ = got.Body.Close()
			if len(got.Cookies()) != 1 {
				t.Errorf("got %v set, want the throttle cookie once", got.Header["Set-Cookie"])
			}
		})
	}
}

func TestSkipperKnowsTheRoute(t *testing.T) {
	e := echo.New()
	e.Use(middleware.PresenceWithConfig(middleware.Config{
		Tracker: newTracker(t), Identify: alice,
		Skipper: func(c echo.Context) bool { return c.Path() == "/api/:name" },
	}))
	e.GET("/api/:name", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	if got := get(e, "/api/unread").Cookies(); len(got) != 0 {
		t.Errorf("got %v set, want nothing", got)
	}
}
