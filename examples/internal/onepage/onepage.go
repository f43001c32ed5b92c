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

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/presence"
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
	site, handler, err := s.New(*scripts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", *addr)
	log.Fatal(site.ListenAndServe(context.Background(), *addr, handler))
}

// New returns the site, with the npm packages in a folder.
func (s Site) New(scripts string) (*rollcall.Site, http.Handler, error) {
	views := template.Must(template.New("page").Funcs(rollcall.Funcs()).Parse(s.Page))
	site, err := rollcall.New(identify, rollcall.Config{Members: true, Views: views})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/scripts/", http.StripPrefix("/scripts/", http.FileServer(http.Dir(scripts))))
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := identify(r); !ok {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "Sign in with any name.", http.StatusUnauthorized)
			return
		}
		nonce := rand.Text()
		w.Header().Set("Content-Security-Policy", strings.ReplaceAll(s.Policy, "NONCE", nonce))
		site.Render(w, r, "page", nonce)
	})
	return site, site.Wrap(mux), nil
}

func identify(r *http.Request) (presence.User, bool) {
	name, _, ok := r.BasicAuth()
	return presence.User{ID: presence.UserID(name)}, ok && name != ""
}
