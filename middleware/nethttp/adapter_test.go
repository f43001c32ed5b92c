package nethttp_test

import (
	"io"
	"log"
	"net/http"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/middleware/internal/adaptertest"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

var pages = map[string]http.HandlerFunc{
	"/page":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, adaptertest.PageBody) },
	"/forbidden":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
	"/no-content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"/redirect":   http.RedirectHandler("/page", http.StatusSeeOther).ServeHTTP,
}

var statuses = map[string]int{"/page": 200, "/forbidden": 403, "/no-content": 204, "/redirect": 303}

type middleware = func(http.Handler) http.Handler

// other returns a middleware by its name.
func other(name string) middleware {
	switch name {
	case "gzip":
		return chimiddleware.Compress(5)
	case "timeout":
		return func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Minute, "too late") }
	case "context timeout":
		return chimiddleware.Timeout(time.Hour)
	case "logger":
		return chimiddleware.RequestLogger(&chimiddleware.DefaultLogFormatter{Logger: log.New(io.Discard, "", 0)})
	case "recoverer":
		return chimiddleware.Recoverer
	}
	return func(next http.Handler) http.Handler { return next }
}

func TestServeMux(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		New: func(s adaptertest.Site) http.Handler {
			whosOnline, after := presenceOf(s), other(s.After)
			mux := http.NewServeMux()
			mux.Handle("/presence/", s.Presence)
			mux.Handle("/", after(s.Page))
			for path, h := range pages {
				mux.Handle("GET "+path, after(h))
			}
			return other(s.Before)(whosOnline(mux))
		},
		Pages:     statuses,
		Others:    []string{"gzip", "timeout"},
		Streaming: []string{"gzip"},
	})
}

func TestChi(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		New: func(s adaptertest.Site) http.Handler {
			r := chi.NewRouter()
			r.Use(other(s.Before), presenceOf(s))
			r.Handle("/presence/*", s.Presence)
			r.Group(func(r chi.Router) {
				r.Use(other(s.After))
				r.Handle("/*", s.Page)
				for path, h := range pages {
					r.Get(path, h)
				}
			})
			return r
		},
		Pages:     statuses,
		Others:    []string{"gzip", "timeout", "context timeout", "logger", "recoverer"},
		Streaming: []string{"gzip", "context timeout", "logger", "recoverer"},
	})
}

// presenceOf returns the middleware under test.
func presenceOf(s adaptertest.Site) middleware {
	return nethttp.PresenceWithConfig(nethttp.Config{Tracker: s.Tracker, Identify: s.Identify, Skipper: s.Skipper})
}
