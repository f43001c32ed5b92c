// Gin shows who is online on a gin site. Sign in with any name.
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
	router := gin.Default()
	router.GET("/", func(c *gin.Context) { c.Render(http.StatusOK, ginv1.HTML(c, site, "home", "gin")) })
	router.POST("/", func(c *gin.Context) { // signs in, or out without a name
		member.SignIn(c.Writer, c.Request)
		_ = site.SignOff(c.Request)
		c.Redirect(http.StatusSeeOther, "/")
	})
	return site, site.Wrap(router)
}
