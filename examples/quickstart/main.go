// Quickstart is the smallest site that shows who is online. Open it in two browsers.
package main

import (
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/presence"
)

const page = `<!doctype html>{{presenceHead}}{{whosOnline "site"}}<input placeholder="Your name" onchange="document.cookie='name='+value;location.reload()">`

func identify(r *http.Request) (user presence.User, ok bool) { // yours: the user of your session
	if session, err := r.Cookie("name"); err == nil {
		user.ID = presence.UserID(session.Value)
	}
	return user, user.ID != ""
}

func main() {
	site, err := rollcall.New(identify, rollcall.Config{Views: template.Must(template.New("home").Funcs(rollcall.Funcs()).Parse(page))})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { site.Render(w, r, "home", nil) })
	log.Fatal(site.ListenAndServe(context.Background(), "127.0.0.1:8080", site.Wrap(http.DefaultServeMux)))
}
