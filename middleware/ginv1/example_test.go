package ginv1_test

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/middleware/ginv1"
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
	sessions := func(c *gin.Context) { c.Set("name", "alice") } // as read from the site's session cookie
	identify := func(c *gin.Context) (presence.User, bool) {
		name, ok := c.Get("name")
		if !ok {
			return presence.User{}, false
		}
		return presence.User{ID: presence.UserID(name.(string))}, true
	}

	router := gin.New()
	router.Use(sessions, ginv1.PresenceWithConfig(ginv1.Config{Tracker: tracker, Identify: identify}))
	router.GET("/", func(c *gin.Context) {
		visitor := presence.VisitorFromContext(c.Request.Context())
		c.Render(http.StatusOK, ginv1.HTML(c, widgets, "home", visitor.User.ID))
	})

	w := httptest.NewRecorder()
	router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Body)
	// Output: Hello, alice! Online: true
}
