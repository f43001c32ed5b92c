// Echov5 shows who is online on an Echo v5 site. Sign in with any name.
package main

import (
	"html/template"
	"log"
	"net/http"
	"time"

	"github.com/labstack/echo/v5"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/echov5"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const home = `<!doctype html><title>Echo v5</title>{{presenceHead}}<h1>Who’s online</h1>{{whosOnline "site"}}
<form method="post"><input name="name" pattern="\w+" required> <button>Sign in</button></form><form method="post"><button>Sign out</button></form>`

func main() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := jobs.Start(tracker, jobs.Config{}); err != nil {
		log.Fatal(err)
	}
	log.Fatal((&http.Server{
		Addr: "127.0.0.1:8080", Handler: site(tracker), ConnContext: handlers.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}).ListenAndServe())
}

func site(tracker *track.Tracker) http.Handler {
	widgets, err := templates.New(template.Must(template.New("home").Funcs(templates.Funcs()).Parse(home)), tracker, templates.Config{})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.Renderer = echov5.NewRenderer(widgets)
	e.Use(echov5.Presence(tracker, func(c *echo.Context) (user presence.User, ok bool) {
		if session, err := c.Cookie("name"); err == nil { // a real site would check it
			user.ID = presence.UserID(session.Value)
		}
		return user, user.ID != ""
	}))
	live := handlers.New(tracker, handlers.Config{ClientIP: handlers.ForwardedFor(), Widget: widgets.Handler()})
	e.Any("/presence/*", echo.WrapHandler(live))
	e.GET("/", func(c *echo.Context) error { return c.Render(http.StatusOK, "home", nil) })
	e.POST("/", func(c *echo.Context) error { // signs in, or out without a name
		if visitor := presence.VisitorFromContext(c.Request().Context()); visitor.SignedIn() {
			_ = tracker.SignOut(c.Request().Context(), visitor.User.ID)
		}
		c.SetCookie(&http.Cookie{Name: "name", Value: c.FormValue("name"), HttpOnly: true})
		return c.Redirect(http.StatusSeeOther, "/")
	})
	return live.Beats(e) // beats need no session
}
