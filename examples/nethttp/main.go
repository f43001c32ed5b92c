// Nethttp shows who is online on a site without a web framework. Sign in with any name.
package main

import (
	"html/template"
	"log"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const home = `<!doctype html><title>net/http</title>{{presenceHead}}<h1>Who’s online</h1>{{whosOnline "site"}}
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
	mux := http.NewServeMux()
	live := handlers.New(tracker, handlers.Config{ClientIP: handlers.ForwardedFor(), Widget: widgets.Handler()})
	mux.Handle("/presence/", live)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if err := widgets.Execute(w, "home", nil, r); err != nil {
			http.Error(w, "The page cannot be shown.", http.StatusInternalServerError)
		}
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
