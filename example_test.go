package rollcall_test

import (
	"context"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	presencehttp "github.com/rollcall-go/rollcall/handlers"
	presencejobs "github.com/rollcall-go/rollcall/jobs"
	presencemw "github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	presencehtml "github.com/rollcall-go/rollcall/templates"
)

// The whole wiring of a site with net/http, and what its page shows.
func Example() {
	mux := http.NewServeMux()
	views := template.Must(template.New("home").Funcs(presencehtml.Funcs()).Parse(`{{onlineTotal "site"}} online`))

	// docs/wiring.md shows the lines from here on.
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		log.Fatal(err)
	}
	runner, err := presencejobs.Start(tracker, presencejobs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	widgets, err := presencehtml.New(views, tracker, presencehtml.Config{})
	if err != nil {
		log.Fatal(err)
	}
	live := presencehttp.New(tracker, presencehttp.Config{Widget: widgets.Handler()})
	mux.Handle("/presence/", live)

	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if err := widgets.Execute(w, "home", nil, r); err != nil {
			http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		endSession(w, r) // yours; it comes first, so that nobody comes back by the old session
		if visitor := presence.VisitorFromContext(r.Context()); visitor.SignedIn() {
			if err := tracker.SignOut(r.Context(), visitor.User.ID); err != nil { // ends the user's streams everywhere
				log.Print(err)
			}
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})

	whosOnline := presencemw.Presence(tracker, identify)
	server := &http.Server{
		Addr:              ":8080",
		Handler:           live.Beats(sessions(whosOnline(mux))), // beats; then your sessions, then presence
		ConnContext:       presencehttp.ConnContext,              // ends streams that nobody reads
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
	// To here.

	page := httptest.NewRecorder()
	server.Handler.ServeHTTP(page, httptest.NewRequest("GET", "/", nil))
	fmt.Println(page.Body)

	// docs/wiring.md shows the lines of the shutdown too, from here on.
	stop := func(ctx context.Context) {
		_ = tracker.Close(ctx) // ends the streams; pages reconnect to the next process
		_ = live.Wait(ctx)
		_ = server.Shutdown(ctx)
		runner.Stop()
	}
	// To here.
	stop(context.Background())
	// Output: 1 online
}

// identify is the site's own: it knows its sessions.
func identify(*http.Request) (presence.User, bool) {
	return presence.User{ID: "alice", Name: "Alice", URL: "/members/alice"}, true
}

// sessions is the site's own middleware.
func sessions(next http.Handler) http.Handler { return next }

// endSession is the site's own.
func endSession(http.ResponseWriter, *http.Request) {}

// The wiring of docs/wiring.md is that of Example, line by line, and so is its shutdown.
func TestDocsWiring(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/wiring.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(source)
	for range 2 {
		_, rest, _ = strings.Cut(rest, "from here on.\n")
		part, _, _ := strings.Cut(rest, "\t// To here.")
		part = strings.ReplaceAll("\n"+part, "\n\t", "\n")
		if part == "\n" || !strings.Contains(string(page), part) {
			t.Errorf("docs/wiring.md does not hold these lines of Example:\n%s", part)
		}
	}
}

// docs/troubleshooting.md explains each finding in the words of the log.
func TestDocsHaveEachFinding(t *testing.T) {
	page, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range presence.Findings() {
		if row := fmt.Sprintf("| `%s` | %s |\n", f, f.Text()); !strings.Contains(string(page), row) {
			t.Errorf("docs/troubleshooting.md lacks this row:\n%s", row)
		}
	}
}
