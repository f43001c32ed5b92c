// Gin shows who is online on a gin site, whose sessions are gin middleware. Sign in with any name.
package main

import (
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/examples/internal/member"
	"github.com/rollcall-go/rollcall/middleware/ginv1"
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
	router := gin.Default()
	router.Use(sessions, ginv1.Presence(site, identify))
	router.GET("/", func(c *gin.Context) { c.Render(http.StatusOK, ginv1.HTML(c, site, "home", "gin")) })
	router.POST("/", signIn)
	return site, router
}

// sessions is the site's own session middleware.
func sessions(c *gin.Context) {
	if user, ok := member.Identify(c.Request); ok {
		c.Set("user", user)
	}
}

// identify returns the user whom sessions has found, and false for a guest.
func identify(c *gin.Context) (presence.User, bool) {
	user, ok := c.Value("user").(presence.User)
	return user, ok
}

// signIn signs in, or out without a name.
func signIn(c *gin.Context) {
	member.SignIn(c.Writer, c.Request)
	if err := rollcall.From(c.Request.Context()).SignOff(c.Request); err != nil {
		log.Print(err)
	}
	c.Redirect(http.StatusSeeOther, "/")
}
