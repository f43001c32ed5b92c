package middleware_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A site's session middleware finds who is signed in; identify hands that on.
func Example() {
	store := memstore.New()
	tracker, err := track.New(store, track.Config{})
	if err != nil {
		panic(err)
	}
	sessions := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set("name", "Alice") // as read from the site's login cookie
			return next(c)
		}
	}
	identify := func(c echo.Context) (presence.User, bool) {
		name, ok := c.Get("name").(string)
		return presence.User{ID: presence.UserID(name), Name: name}, ok
	}

	e := echo.New()
	e.Use(sessions, middleware.PresenceWithConfig(middleware.Config{Tracker: tracker, Identify: identify}))
	e.GET("/", func(c echo.Context) error {
		visitor := presence.VisitorFromContext(c.Request().Context())
		return c.HTML(http.StatusOK, "Hello, "+html.EscapeString(visitor.User.DisplayName()))
	})

	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Body)

	if err := tracker.Close(context.Background()); err != nil { // writes what waits
		panic(err)
	}
	roster, err := store.Snapshot(context.Background(), presence.Site)
	if err != nil {
		panic(err)
	}
	for _, member := range roster.Members {
		fmt.Println("online:", member.DisplayName())
	}
	// Output:
	// Hello, Alice
	// online: Alice
}

// A throttle that is too long for the tracker's age period is refused.
func ExampleNew() {
	tracker, err := track.New(memstore.New(), track.Config{Age: time.Minute})
	if err != nil {
		panic(err)
	}
	defer func() { _ = tracker.Close(context.Background()) }()

	_, err = middleware.New(middleware.Config{
		Tracker:  tracker,
		Identify: func(echo.Context) (presence.User, bool) { return presence.User{}, false },
		Throttle: 50 * time.Second,
	})
	fmt.Println(err)
	// Output:
	// invalid config: Throttle is 50s, and must be at most half the tracker's Age of 1m0s: a visitor whose page views are recorded less often would leave and come back between two of them
}
