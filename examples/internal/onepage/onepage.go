// Package onepage is a site of one page, for the smallest examples. It is wired as
// examples/quickstart is. Visitors sign in by HTTP basic authentication, with any name and
// any password.
package onepage

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// A Site is a site of one page.
type Site struct {
	Package string // of npm; the page loads its scripts from /scripts
	Page    string // an html/template; its dot is a nonce
	Policy  string // the Content-Security-Policy; NONCE in it becomes the nonce
}

// Main serves the site at -addr until the process is killed.
func (s Site) Main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen address")
	scripts := flag.String("scripts", ".ci/clients/node_modules", "the node_modules folder of npm")
	flag.Parse()
	if _, err := os.Stat(filepath.Join(*scripts, s.Package)); err != nil {
		log.Fatalf("%s is missing; npm ci --ignore-scripts --prefix .ci/clients gets it: %v", s.Package, err)
	}
	site, _, err := s.New(*scripts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", *addr)
	server := &http.Server{
		Addr: *addr, Handler: site, ConnContext: handlers.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	log.Fatal(server.ListenAndServe())
}

// New returns the site, with the npm packages in a folder, and a function that stops it.
func (s Site) New(scripts string) (site http.Handler, end func(), err error) {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		return nil, nil, err
	}
	runner, err := jobs.Start(tracker, jobs.Config{})
	if err != nil {
		return nil, nil, err
	}
	views := template.Must(template.New("page").Funcs(templates.Funcs()).Parse(s.Page))
	widgets, err := templates.New(views, tracker, templates.Config{})
	if err != nil {
		return nil, nil, err
	}
	e := echo.New()
	e.Static("/scripts", scripts)
	e.GET("/favicon.ico", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	signedIn := e.Group("", echomiddleware.BasicAuth(func(name, _ string, _ echo.Context) (bool, error) { return name != "", nil }),
		middleware.Presence(tracker, identify))
	live := handlers.New(tracker, handlers.Config{
		ClientIP: handlers.ForwardedFor(),
		Widget:   widgets.Handler(),
	})
	e.Pre(echo.WrapMiddleware(live.Beats)) // beats need no session
	signedIn.Any("/presence/*", echo.WrapHandler(live))
	signedIn.GET("/", func(c echo.Context) error {
		nonce := rand.Text()
		c.Response().Header().Set(echo.HeaderContentSecurityPolicy, strings.ReplaceAll(s.Policy, "NONCE", nonce))
		return c.Render(http.StatusOK, "page", nonce)
	})
	e.Renderer = templates.RendererFor[echo.Context](widgets)
	return e, func() {
		runner.Stop()
		_ = tracker.Close(context.Background())
	}, nil
}

func identify(c echo.Context) (presence.User, bool) {
	name, _, ok := c.Request().BasicAuth()
	return presence.User{ID: presence.UserID(name)}, ok
}
