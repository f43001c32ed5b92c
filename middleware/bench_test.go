package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// BenchmarkEcho is what a page view whose cookie throttles costs with Echo. Package core
// has the benchmarks of all kinds of visits.
func BenchmarkEcho(b *testing.B) {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tracker.Close(context.Background()) }()
	mw := middleware.PresenceWithConfig(middleware.Config{Tracker: tracker, Identify: func(echo.Context) (presence.User, bool) { return presence.User{ID: "alice"}, true }})
	page := mw(func(c echo.Context) error { c.Response().WriteHeader(http.StatusOK); return nil })
	e := echo.New()
	r := httptest.NewRequest(http.MethodGet, "/threads/1", nil)
	w := httptest.NewRecorder()
	c := e.NewContext(r, w)
	if err := page(c); err != nil {
		b.Fatal(err)
	}
	for _, cookie := range w.Result().Cookies() {
		r.AddCookie(cookie)
	}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.Header())
		c.Reset(r, w)
		if err := page(c); err != nil {
			b.Fatal(err)
		}
	}
}
