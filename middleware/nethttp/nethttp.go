// Package nethttp tells presence who is on a site that serves with net/http, or with a
// router that takes its middleware, such as chi. For each request it calls the site's
// Identify once, and puts the answer into the request's context as a [presence.Visitor].
// A page view is recorded at once in memory. A page never waits for presence, and never
// fails because of it.
//
// Mount it after the site's session middleware, around the pages and the presence
// endpoints:
//
//	whosOnline := nethttp.Presence(tracker, identify)
//	http.ListenAndServe(":8080", sessions(whosOnline(mux)))
//	r.Use(sessions, whosOnline) // with chi
//
// Package [core] says what a page view is and which cookies there are.
package nethttp

import (
	"net/http"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Config configures the middleware. Its Identify and Skipper are given the request.
type Config = core.Config[*http.Request]

// Presence returns a middleware with the default [Config]. identify returns the user of a
// request and true, or false for a guest; [core.Config] says more.
//
// It panics if identify is nil, or if the tracker's Age is under 2 min, which needs a
// shorter Throttle in the Config.
func Presence(tracker *track.Tracker, identify func(*http.Request) (presence.User, bool)) func(http.Handler) http.Handler {
	return PresenceWithConfig(Config{Tracker: tracker, Identify: identify})
}

// PresenceWithConfig returns a middleware. It panics if the config is invalid; [New]
// returns an error instead.
func PresenceWithConfig(config Config) func(http.Handler) http.Handler { return core.Must(New(config)) }

// New returns a middleware. The error is [presence.ErrInvalidConfig] and names every
// invalid field.
func New(config Config) (func(http.Handler) http.Handler, error) {
	recorder, err := core.New(config)
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			visit := recorder.Begin(r, r, w.Header())
			defer visit.End()
			next.ServeHTTP(visit.Cookies.Wrap(w), visit.Request)
			visit.Cookies.Set(w.Header(), http.StatusOK, nil) // the handler may have written nothing
		})
	}, nil
}
