// Htmx is a site that has htmx already, and needs no other script to show who is
// online: the stream brings the widget as HTML, and htmx puts it in its place.
//
//	npm ci --prefix .ci/clients    # gets htmx, once
//	go run ./examples/htmx
//
// Sign in with any name and any password, then again from another browser.
package main

import (
	"context"
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

// home is a page for htmx 4. Its stream would end in the background, and its user
// be gone; morphing leaves alone what is the same, and the focus in it.
//
// For htmx 2 with htmx-ext-sse, the element says
//
//	<div hx-ext="sse" sse-connect="/presence/events?as=html" sse-swap="message">
const home = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Who’s online, by htmx</title>
<meta name="htmx-config" content='{"includeIndicatorCSS":false,"sse":{"pauseOnBackground":false}}'>
{{presenceStyle}}
<script src="/scripts/htmx.org/dist/htmx.min.js" defer></script>
<script src="/scripts/htmx.org/dist/ext/hx-sse.min.js" defer></script>
</head>
<body>
<main>
<h1>Who’s online</h1>
<div hx-sse:connect="/presence/events?as=html" hx-swap="innerMorph">{{whosOnline "site"}}</div>
</main>
</body>
</html>
`

// policy allows what the site serves itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen address")
	scripts := flag.String("scripts", ".ci/clients/node_modules", "where npm has put its packages")
	flag.Parse()
	if _, err := os.Stat(filepath.Join(*scripts, "htmx.org")); err != nil {
		log.Fatal("htmx is missing; npm ci --prefix .ci/clients gets it: ", err)
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
	e.Use(echomiddleware.SecureWithConfig(echomiddleware.SecureConfig{ContentSecurityPolicy: policy}))
	e.Static("/scripts", scripts)
	e.GET("/favicon.ico", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	signedIn := e.Group("", echomiddleware.BasicAuth(func(name, _ string, _ echo.Context) (bool, error) { return name != "", nil }),
		middleware.Presence(tracker, identify))
	signedIn.Any("/presence/*", echo.WrapHandler(handlers.New(tracker, handlers.Config{
		Widget: templates.Handler(tracker, templates.Config{}),
	})))
	signedIn.GET("/", func(c echo.Context) error { return c.Render(http.StatusOK, "page", nil) })
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
