package core

import (
	"io"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// A Site is what the middleware of a framework mounts, such as a *rollcall.Site.
type Site interface {
	// Mount returns the site's parts. The middleware serves the endpoints from now on.
	Mount() Mount
}

// A Mount is a site's presence, without its framework.
type Mount struct {
	Config    Config[*http.Request]                // of the middleware, but for Identify
	Paths     []string                             // of the endpoints, such as "/presence"; two where requests may lack the site's BasePath
	Endpoints http.Handler                         // all of them
	Front     func(next http.Handler) http.Handler // answers what needs no visitor, before all else of the site
	Restored  func(*http.Request) *http.Request    // with the BasePath in its path, if that is an endpoint's
	Attach    func(*http.Server)                   // prepares a server that the framework starts
	Pages     Executor                             // nil: the site has no templates
}

// Owns reports whether a request is for the endpoints.
func (m Mount) Owns(r *http.Request) bool {
	for _, path := range m.Paths {
		if under, ok := strings.CutPrefix(r.URL.Path, path); ok && strings.HasPrefix(under, "/") {
			return true
		}
	}
	return false
}

// An Executor executes templates for a request. templates.Widgets is one.
type Executor interface {
	// Execute writes the named template to w.
	Execute(w io.Writer, name string, data any, r *http.Request) error
}

// Framed returns the Config of the middleware of a framework, whose handlers are given a C with a request.
func Framed[C any](m Mount, identify func(C) (presence.User, bool), request func(C) *http.Request) Config[C] {
	c := m.Config
	return Config[C]{
		Tracker: c.Tracker, Site: c.Site, Identify: identify, ClientIP: c.ClientIP, Members: c.Members, Secret: c.Secret,
		Topic: c.Topic, CookieName: c.CookieName, Throttle: c.Throttle,
		Tenant: framed(c.Tenant, request), Skipper: framed(c.Skipper, request), Session: framed(c.Session, request), Consent: framed(c.Consent, request),
	}
}

func framed[C, T any](f func(*http.Request) T, request func(C) *http.Request) func(C) T {
	if f == nil {
		return nil
	}
	return func(c C) T { return f(request(c)) }
}

// Must returns a middleware, or panics if there is an error.
func Must[T any](mw T, err error) T {
	if err != nil {
		panic(err)
	}
	return mw
}
