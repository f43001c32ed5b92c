package core

import (
	"net/http"
	"strings"
)

// A class is what a request means to presence.
type class uint8

const (
	viewing   class = iota // a page view, if isPageView says so
	streaming              // asks a presence endpoint for events: holds a user online
	joining                // a beat of a page that joined another tab's stream, which now holds it online
	changing               // may change who the visitor is
	setting                // may set the visitor's status
	beating                // a beat or a leave, whose token says all
	file                   // one of our scripts and styles, which are the same for all visitors
	other                  // any other request below the prefix
)

// expires reports whether the user's next page view must be recorded, even if the last
// one was a moment ago.
func (c class) expires() bool { return c == streaming || c == joining || c == changing }

// identifies reports whether it matters who the visitor is.
func (c class) identifies() bool { return c != beating && c != file }

func (m *engine) classOf(r *http.Request) class {
	under, ok := m.endpoint(r.URL.Path)
	if !ok {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions:
			return viewing
		}
		return changing
	}
	switch {
	case r.Method == http.MethodGet && (under == "/events" || under == "/ws" || under == "/poll"),
		r.Method == http.MethodPost && (under == "/events" || under == "/poll"): // with a list of people in the body
		return streaming
	case r.Method == http.MethodPost && (under == "/beat" || under == "/leave") && r.URL.RawQuery == "":
		return beating
	case strings.HasPrefix(under, "/assets/"):
		return file
	case r.Method == http.MethodPost && under == "/beat" && strings.Contains("&"+r.URL.RawQuery+"&", "&joined=1&"):
		return joining
	case r.Method == http.MethodPut:
		return setting
	}
	return other
}

// endpoint returns the part of a path below the prefix, and false for a path outside the presence endpoints.
// With a prefix, all paths below it are endpoints. Without one, the endpoints share the root with the site's
// pages, so only the names of endpoints are.
func (m *engine) endpoint(path string) (under string, ok bool) {
	if m.prefix == "" {
		return path, m.isEndpoint(path)
	}
	under, ok = strings.CutPrefix(path, m.prefix)
	under = strings.TrimSuffix(under, "/") // which the handler ignores
	return under, ok && (under == "" || under[0] == '/')
}

// isEndpoint reports whether package handlers serves a path below the prefix. Some names are endpoints only
// on a site with people or with feeds. On other sites without a prefix, they are pages of the site.
func (m *engine) isEndpoint(under string) bool {
	switch under {
	case "/roster", "/users", "/recent", "/counts", "/where", "/events", "/ws", "/poll", "/beat", "/leave", "/status", "/signal", "/widget":
		return true
	case "/people", "/settings", "/sessions":
		return m.people
	case "/feed", "/mutes":
		return m.feeds()
	}
	return strings.HasPrefix(under, "/assets/") || strings.HasPrefix(under, "/form/") || m.people && strings.HasPrefix(under, "/sessions/") ||
		strings.HasPrefix(under, "/feed/") && m.feeds()
}

// feeds reports whether the site has feeds: a Keeper then serves the inbox. It may be made after the middleware.
func (m *engine) feeds() bool { return m.tracker != nil && m.tracker.Serves("inbox") }
