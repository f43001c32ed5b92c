package rollcall_test

import (
	"fmt"
	"html/template"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/templates"
)

// The whole wiring of a site, and what its page shows.
func Example() {
	views := template.Must(template.New("home").Funcs(templates.Funcs()).Parse(`{{onlineTotal "site"}} online`))
	e := echo.New()

	// The README shows the lines from here on.
	tracker, err := presence.New(memstore.New(), presence.Config{})
	if err != nil {
		log.Fatal(err)
	}
	widgets, err := templates.New(views, tracker, templates.Config{})
	if err != nil {
		log.Fatal(err)
	}
	// Only a proxy on this machine may name the address of a visitor.
	e.IPExtractor = echo.ExtractIPFromXFFHeader(echo.TrustLinkLocal(false), echo.TrustPrivateNet(false))
	e.Use(middleware.Presence(tracker, identify)) // after the site's own session middleware
	e.Any("/presence/*", echo.WrapHandler(handlers.New(tracker, handlers.Config{
		ClientIP: e.IPExtractor, // guests are limited by address
		Widget:   widgets.Handler(),
	})))
	e.Renderer = templates.RendererFor[echo.Context](widgets)
	runner, err := jobs.Start(tracker, jobs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Stop()
	server := &http.Server{
		Addr:              ":8080",
		Handler:           e,
		ConnContext:       handlers.ConnContext, // ends streams that nobody reads
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
	// To here.

	e.GET("/", func(c echo.Context) error { return c.Render(200, "home", nil) })
	page := httptest.NewRecorder()
	server.Handler.ServeHTTP(page, httptest.NewRequest("GET", "/", nil))
	fmt.Println(page.Body)
	// Output: 1 online
}

// identify is the site's own: it knows its sessions.
func identify(echo.Context) (presence.User, bool) {
	return presence.User{ID: "alice", Name: "Alice", URL: "/members/alice"}, true
}

// The README's wiring is that of Example, line by line.
func TestReadme(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, wiring, _ := strings.Cut(string(source), "lines from here on.\n")
	wiring, _, _ = strings.Cut(wiring, "\t// To here.")
	wiring = strings.ReplaceAll("\n"+wiring, "\n\t", "\n")
	if !strings.Contains(string(readme), wiring) {
		t.Errorf("the README does not hold the wiring of Example:\n%s", wiring)
	}
}
