// Turbo is a site that has Turbo already, and needs no other script to show who is
// online: the stream brings the widget as Turbo Streams, which morph the one on the
// page.
//
//	npm ci --prefix .ci/clients    # gets Turbo, once
//	go run ./examples/turbo
//
// Sign in with any name and any password, then again from another browser.
package main

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

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// home has a source of Turbo Streams. They find the widgets of their topic by
// themselves, wherever they stand on the page.
const home = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Who’s online, by Turbo</title>
<meta name="csp-nonce" content="{{.}}">
{{presenceStyle}}
<script type="module" src="/scripts/@hotwired/turbo/dist/turbo.es2017-esm.js"></script>
</head>
<body>
<main>
<h1>Who’s online</h1>
{{whosOnline "site"}}
</main>
<turbo-stream-source src="/presence/events?as=turbo"></turbo-stream-source>
</body>
</html>
`

// policy allows what the site serves itself, and the style of Turbo's progress bar,
// which has the nonce that the page tells it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self'; connect-src 'self'"

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen address")
	scripts := flag.String("scripts", ".ci/clients/node_modules", "where npm has put its packages")
	flag.Parse()
	if _, err := os.Stat(filepath.Join(*scripts, "@hotwired", "turbo")); err != nil {
		log.Fatal("Turbo is missing; npm ci --prefix .ci/clients gets it: ", err)
	}
	site, _, err := newSite(home, *scripts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", *addr)
	log.Fatal(http.ListenAndServe(*addr, site))
}

// newSite returns the site with a page of its own, and what ends it.
func newSite(page, scripts string) (site http.Handler, end func(), err error) {
	tracker, err := presence.New(presence.NewMemoryStore(), presence.Config{})
	if err != nil {
		return nil, nil, err
	}
	runner, err := jobs.Start(tracker, jobs.Config{})
	if err != nil {
		return nil, nil, err
	}
	e := echo.New()
	e.Static("/scripts", scripts)
	e.GET("/favicon.ico", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	signedIn := e.Group("", echomiddleware.BasicAuth(func(name, _ string, _ echo.Context) (bool, error) { return name != "", nil }),
		middleware.Presence(tracker, identify))
	signedIn.Any("/presence/*", echo.WrapHandler(handlers.New(tracker, handlers.Config{
		Widget: templates.Handler(tracker, templates.Config{}),
	})))
	signedIn.GET("/", func(c echo.Context) error {
		nonce := rand.Text()
		c.Response().Header().Set("Content-Security-Policy", fmt.Sprintf(policy, nonce))
		return c.Render(http.StatusOK, "page", nonce)
	})
	views := template.Must(template.New("page").Funcs(templates.Funcs()).Parse(page))
	e.Renderer = templates.Renderer[echo.Context](views, tracker, templates.Config{})
	return e, func() {
		runner.Stop()
		tracker.Close(context.Background())
	}, nil
}

func identify(c echo.Context) (presence.User, bool) {
	name, _, ok := c.Request().BasicAuth()
	return presence.User{ID: presence.UserID(name)}, ok
}
