package main

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A wiring is how a test's site is put together. The zero value is a site without mistakes.
type wiring struct {
	page     string                          // a template; empty: home
	config   handlers.Config                 // Authorize and ClientIP
	prefix   string                          // that presence is told
	mount    string                          // where the endpoints are; empty: /presence/
	bare     bool                            // the presence middleware is left out
	onlyLive bool                            // it is left out before the page
	sessions bool                            // presence stands before the sessions
	pages    func(http.Handler) http.Handler // before the page
	live     func(http.Handler) http.Handler // before the endpoints
	server   func(*httptest.Server)          // before it starts
	start    func(*httptest.Server)          // default: Start
}

const home = `<!doctype html><title>Home</title>{{presenceHead}}<h1>Home</h1>{{whosOnline "site"}}`

type sessionKey struct{}

// sessions is the session middleware of the sites: the cookie holds the name.
func sessions(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err == nil {
			r = r.WithContext(context.WithValue(r.Context(), sessionKey{}, c.Value))
		}
		next.ServeHTTP(w, r)
	})
}

func identify(r *http.Request) (presence.User, bool) {
	name, signedIn := r.Context().Value(sessionKey{}).(string)
	return presence.User{ID: presence.UserID(name)}, signedIn
}

// handler returns the site. Its parts end with the test.
func (s wiring) handler(t *testing.T) http.Handler {
	t.Helper()
	tracker, err := track.New(memstore.New(), track.Config{Prefix: s.prefix, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := jobs.Start(tracker, jobs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if s.page == "" {
		s.page = home
	}
	views := template.Must(template.New("home").Funcs(templates.Funcs()).Parse(s.page))
	widgets, err := templates.New(views, tracker, templates.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.config.Widget = widgets.Handler()
	handler := handlers.New(tracker, s.config)
	t.Cleanup(func() {
		runner.Stop()
		_ = tracker.Close(context.Background())
		_ = handler.Wait(context.Background())
	})
	page := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := widgets.Execute(w, "home", nil, r); err != nil {
			t.Error(err)
		}
	}))
	if s.mount == "" {
		s.mount = "/presence/"
	}
	mux := http.NewServeMux()
	mux.Handle(s.mount, through(s.live, handler))
	mux.Handle("GET /{$}", through(s.pages, page))
	whosOnline := nethttp.Presence(tracker, identify)
	switch {
	case s.bare:
		return mux
	case s.onlyLive:
		front := http.NewServeMux()
		front.Handle("/", mux)
		front.Handle("/presence/", whosOnline(mux))
		return front
	case s.sessions:
		return whosOnline(sessions(mux))
	}
	return sessions(whosOnline(mux))
}

func through(before func(http.Handler) http.Handler, h http.Handler) http.Handler {
	if before == nil {
		return h
	}
	return before(h)
}

// serve runs the site on a port of its own, and returns its address.
func (s wiring) serve(t *testing.T) string {
	t.Helper()
	handler := s.handler(t)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if s.server != nil {
		s.server(server)
	}
	if s.start == nil {
		server.Start()
	} else {
		s.start(server)
	}
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}
