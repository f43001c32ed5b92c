package echov5_test

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"

	"github.com/labstack/echo/v5"

	"github.com/rollcall-go/rollcall/middleware/echov5"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A site's session middleware finds who is signed in; identify hands that on. Pages are
// rendered for the visitor of their request.
func Example() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = tracker.Close(context.Background()) }()
	views := template.Must(template.New("home").Funcs(templates.Funcs()).Parse(`Hello, {{.}}! Online: {{isOnline "alice"}}`))
	widgets, err := templates.New(views, tracker, templates.Config{})
	if err != nil {
		panic(err)
	}
	sessions := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			c.Set("name", "alice") // as read from the site's session cookie
			return next(c)
		}
	}
	identify := func(c *echo.Context) (presence.User, bool) {
		name, ok := c.Get("name").(string)
		return presence.User{ID: presence.UserID(name)}, ok
	}

	e := echo.New()
	e.Renderer = echov5.NewRenderer(widgets)
	e.Use(sessions, echov5.PresenceWithConfig(echov5.Config{Tracker: tracker, Identify: identify}))
	e.GET("/", func(c *echo.Context) error {
		visitor := presence.VisitorFromContext(c.Request().Context())
		return c.Render(http.StatusOK, "home", visitor.User.ID)
	})

	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Body)
	// Output: Hello, alice! Online: true
}
