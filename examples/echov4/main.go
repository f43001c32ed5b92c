// Echov4 shows who is online on an Echo v4 site. Sign in with any name.
package main

import (
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/examples/internal/member"
	"github.com/rollcall-go/rollcall/templates"
)

func main() {
	site, handler := newSite()
	log.Fatal(site.ListenAndServe(context.Background(), "127.0.0.1:8080", handler))
}

func newSite() (*rollcall.Site, http.Handler) {
	views := template.Must(template.New("home").Funcs(rollcall.Funcs()).Parse(member.Page))
	site, err := rollcall.New(member.Identify, rollcall.Config{Views: views})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.Renderer = templates.RendererFor[echo.Context](site.Widgets())
	e.GET("/", func(c echo.Context) error { return c.Render(http.StatusOK, "home", "Echo v4") })
	e.POST("/", func(c echo.Context) error { // signs in, or out without a name
		member.SignIn(c.Response(), c.Request())
		_ = site.SignOff(c.Request())
		return c.Redirect(http.StatusSeeOther, "/")
	})
	return site, site.Wrap(e)
}
