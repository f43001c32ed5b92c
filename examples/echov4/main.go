// Echov4 shows who is online on an Echo v4 site, whose sessions are Echo middleware. Sign in with any name.
package main

import (
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/examples/internal/member"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
)

func main() {
	site, handler := newSite()
	log.Fatal(site.ListenAndServe(context.Background(), "127.0.0.1:8080", handler))
}

func newSite() (*rollcall.Site, http.Handler) {
	views := template.Must(template.New("home").Funcs(rollcall.Funcs()).Parse(member.Page))
	site, err := rollcall.New(nil, rollcall.Config{Views: views})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.Use(middleware.Presence(e, site, identify), sessions) // in any order
	e.GET("/", func(c echo.Context) error { return c.Render(http.StatusOK, "home", "Echo v4") })
	e.POST("/", signIn)
	return site, e
}

// sessions is the site's own session middleware.
func sessions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if user, ok := member.Identify(c.Request()); ok {
			c.Set("user", user)
		}
		return next(c)
	}
}

// identify returns the user whom sessions has found, and false for a guest.
func identify(c echo.Context) (presence.User, bool) {
	user, ok := c.Get("user").(presence.User)
	return user, ok
}

// signIn signs in, or out without a name.
func signIn(c echo.Context) error {
	member.SignIn(c.Response(), c.Request())
	if err := rollcall.From(c.Request().Context()).SignOff(c.Request()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}
