// Chi shows who is online on a chi site. Sign in with any name.
package main

import (
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/examples/internal/member"
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
	router := chi.NewRouter()
	router.Use(site.Wrap)
	router.Get("/", func(w http.ResponseWriter, r *http.Request) { site.Render(w, r, "home", "chi") })
	router.Post("/", func(w http.ResponseWriter, r *http.Request) { // signs in, or out without a name
		member.SignIn(w, r)
		if err := site.SignOff(r); err != nil {
			log.Print(err)
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	return site, router
}
