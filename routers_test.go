package rollcall_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	echo4 "github.com/labstack/echo/v4"
	echo5 "github.com/labstack/echo/v5"

	"github.com/rollcall-go/rollcall"
)

// A router may have Wrap among its own middleware, behind sessions of the framework that put the
// user into the request's context. Then identify finds the user there.
func TestWrapWithinARouter(t *testing.T) {
	routers := map[string]func(*rollcall.Site) http.Handler{
		"chi": func(site *rollcall.Site) http.Handler {
			r := chi.NewRouter()
			r.Use(site.Wrap)
			r.Get("/page", func(w http.ResponseWriter, r *http.Request) { site.Render(w, r, "page", nil) })
			return r
		},
		"Echo 4": func(site *rollcall.Site) http.Handler {
			e := echo4.New()
			e.Use(echo4.WrapMiddleware(site.Wrap))
			e.GET("/page", func(c echo4.Context) error { return site.Execute(c.Response(), "page", nil, c.Request()) })
			return e
		},
		"Echo 5": func(site *rollcall.Site) http.Handler {
			e := echo5.New()
			e.Use(echo5.WrapMiddleware(site.Wrap))
			e.GET("/page", func(c *echo5.Context) error { return site.Execute(c.Response(), "page", nil, c.Request()) })
			return e
		},
	}
	for name, router := range routers {
		t.Run(name, func(t *testing.T) {
			site, log := newSite(t, rollcall.Config{Views: parse(`{{onlineTotal "site"}} online`)})
			h := router(site)
			if got := get(t, h, "/page", "alice"); got.Body.String() != "1 online" {
				t.Errorf("got %d %q, want a page that shows Alice", got.Code, got.Body)
			}
			until(t, "Alice is in the roster", func() bool { return strings.Contains(get(t, h, "/presence/roster", "bob").Body.String(), `"alice"`) })
			if got := get(t, h, "/nothing", "alice"); got.Code != http.StatusNotFound {
				t.Errorf("got %d for a page that is not there, want 404", got.Code)
			}
			server := httptest.NewServer(h)
			defer server.Close()
			stream := open(t, server.URL+"/presence/events", "alice")
			if err := site.Tracker().SignOut(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
			if got := string(stream()); !strings.Contains(got, "event: welcome") {
				t.Errorf("got the stream %q, want one that flows, and ends with the sign-out", got)
			}
			if strings.Contains(log.String(), "finding=") {
				t.Errorf("got the log %s, want no finding", log)
			}
		})
	}
}
