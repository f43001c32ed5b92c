// Gomponents shows who is online on a site whose pages are Go. Sign in with any name.
package main

import (
	"context"
	"log"
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/examples/internal/member"
)

func main() {
	site, handler := newSite()
	log.Fatal(site.ListenAndServe(context.Background(), "127.0.0.1:8080", handler))
}

func newSite() (*rollcall.Site, http.Handler) {
	site, err := rollcall.New(member.Identify, rollcall.Config{})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		page := site.Page(r)
		_ = h.Doctype(h.HTML(h.TitleEl(g.Text("gomponents")), g.Raw(string(page.Head())),
			h.H1(g.Text("Who’s online")), g.Raw(string(page.WhosOnline("site"))), h.Form(h.Method("post"), h.Button(g.Text("Sign out"))),
			h.Form(h.Method("post"), h.Input(h.Name("name"), h.Pattern(`\w+`), h.Required()), h.Button(g.Text("Sign in"))))).Render(w)
	})
	mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) { // signs in, or out without a name
		member.SignIn(w, r)
		if err := site.SignOff(r); err != nil {
			log.Print(err)
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	return site, site.Wrap(mux)
}
