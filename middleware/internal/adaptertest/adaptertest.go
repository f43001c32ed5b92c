// Package adaptertest holds the tests that the adapter of each framework passes. They run
// whole sites of the framework, so they show that presence works with the framework's own
// writers, middleware and server.
package adaptertest

import (
	"net/http"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// An Adapter is a framework with its presence middleware.
type Adapter struct {
	// New returns a site of the framework.
	New func(Site) http.Handler

	// Pages are pages of the site that New returns, written by the framework's own
	// methods, with the status that each has. The first view of each sets the cookie.
	Pages map[string]int

	// Others names the middleware that New can mount beside presence, as Site.Before and
	// Site.After. Each page works with each of them on either side.
	Others []string

	// Streaming has those of Others that do not stop streams.
	Streaming []string
}

// A Site says what New builds.
type Site struct {
	Tracker  *track.Tracker
	Identify func(*http.Request) (presence.User, bool) // for the adapter's Identify
	Skipper  func(*http.Request) bool                  // for the adapter's Skipper

	// Presence serves each path below /presence/.
	Presence http.Handler
	// Page serves each path that is neither below /presence/ nor in Adapter.Pages, with
	// each method. New mounts it as the framework mounts any http.Handler.
	Page http.Handler

	// Before is the middleware of Others that New mounts before presence for all routes.
	// After is the one that New mounts after it for all routes but Presence. "" means no middleware.
	Before, After string
}

// PageBody is the body of each page in Adapter.Pages whose status allows one.
const PageBody = "<!doctype html><p>a page"

// Run runs all tests.
func Run(t *testing.T, a Adapter) {
	t.Run("visitors", func(t *testing.T) { testVisitors(t, a) })
	t.Run("pages", func(t *testing.T) { testPages(t, a) })
	t.Run("writers", func(t *testing.T) { testWriters(t, a) })
	t.Run("streams", func(t *testing.T) { testStreams(t, a) })
}
