// Quickstart is the smallest site that shows who is online. Sign in with any name and
// any password, then with another name in another browser.
package main

import (
	"html/template"
	"log"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const home = `<!doctype html><title>Quickstart</title>{{presenceHead}}<h1>Who’s online</h1>{{whosOnline "site"}}`

func main() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := jobs.Start(tracker, jobs.Config{}); err != nil {
		log.Fatal(err)
	}
	views := template.Must(template.New("home").Funcs(templates.Funcs()).Parse(home))
	widgets, err := templates.New(views, tracker, templates.Config{})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.Use(echomiddleware.BasicAuth(func(name, _ string, _ echo.Context) (bool, error) { return name != "", nil }))
	e.Use(middleware.Presence(tracker, func(c echo.Context) (presence.User, bool) {
		name, _, ok := c.Request().BasicAuth()
		return presence.User{ID: presence.UserID(name)}, ok
	}))
	live := handlers.New(tracker, handlers.Config{
		ClientIP: handlers.ForwardedFor(), // a proxy on this machine may name the address of a visitor
		Widget:   widgets.Handler(),
	})
	e.Pre(echo.WrapMiddleware(live.Beats)) // beats need no session
	e.Any("/presence/*", echo.WrapHandler(live))
	e.Renderer = templates.RendererFor[echo.Context](widgets)
	e.GET("/", func(c echo.Context) error { return c.Render(200, "home", nil) })
	log.Fatal(e.StartServer(&http.Server{
		Addr: "127.0.0.1:8080", ConnContext: handlers.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}))
}
