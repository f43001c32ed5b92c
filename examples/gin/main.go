// Gin shows who is online on a gin site. Sign in with any name.
package main

import (
	"html/template"
	"log"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/ginv1"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const home = `<!doctype html><title>gin</title>{{presenceHead}}<h1>Who’s online</h1>{{whosOnline "site"}}
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
	router := gin.Default()
	router.Use(ginv1.Presence(tracker, func(c *gin.Context) (user presence.User, ok bool) {
		name, _ := c.Cookie("name") // a real site would check it
		return presence.User{ID: presence.UserID(name)}, name != ""
	}))
	live := handlers.New(tracker, handlers.Config{ClientIP: handlers.ForwardedFor(), Widget: widgets.Handler()})
	router.Any("/presence/*path", gin.WrapH(live))
	router.GET("/", func(c *gin.Context) { c.Render(http.StatusOK, ginv1.HTML(c, widgets, "home", nil)) })
	router.POST("/", func(c *gin.Context) { // signs in, or out without a name
		if visitor := presence.VisitorFromContext(c.Request.Context()); visitor.SignedIn() {
			_ = tracker.SignOut(c.Request.Context(), visitor.User.ID)
		}
		c.SetCookie("name", c.PostForm("name"), 0, "/", "", false, true)
		c.Redirect(http.StatusSeeOther, "/")
	})
	return live.Beats(router) // beats need no session
}
