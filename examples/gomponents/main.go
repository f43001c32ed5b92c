// Gomponents shows who is online on a site whose pages are Go. Sign in with any name.
package main

import (
	"log"
	"net/http"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

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
	widgets, err := templates.New(nil, tracker, templates.Config{})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	live := handlers.New(tracker, handlers.Config{ClientIP: handlers.ForwardedFor(), Widget: widgets.Handler()})
	mux.Handle("/presence/", live)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		page := widgets.Page(r)
		_ = h.Doctype(h.HTML(h.TitleEl(g.Text("gomponents")), g.Raw(string(page.Head())),
			h.H1(g.Text("Who’s online")), g.Raw(string(page.WhosOnline("site"))), h.Form(h.Method("post"), h.Button(g.Text("Sign out"))),
			h.Form(h.Method("post"), h.Input(h.Name("name"), h.Pattern(`\w+`), h.Required()), h.Button(g.Text("Sign in"))))).Render(w)
	})
	mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) { // signs in, or out without a name
		if visitor := presence.VisitorFromContext(r.Context()); visitor.SignedIn() {
			_ = tracker.SignOut(r.Context(), visitor.User.ID)
		}
		http.SetCookie(w, &http.Cookie{Name: "name", Value: r.FormValue("name"), HttpOnly: true})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	whosOnline := nethttp.Presence(tracker, func(r *http.Request) (user presence.User, ok bool) {
		if session, err := r.Cookie("name"); err == nil { // a real site would check it
			user.ID = presence.UserID(session.Value)
		}
		return user, user.ID != ""
	})
	return live.Beats(whosOnline(mux)) // beats need no session
}
