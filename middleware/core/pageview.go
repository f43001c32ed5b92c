package core

import (
	"net/http"
	"path"
	"strings"
	"time"
)

// isPageView reports whether a person may have sent a request to see a page. The request
// is not one to a presence endpoint.
func isPageView(r *http.Request) bool {
	if r.Method != http.MethodGet || isSpeculative(r.Header) {
		return false
	}
	switch header(r.Header, "Sec-Fetch-Dest") {
	case "document", "iframe", "frame", "fencedframe":
		return true
	case "", "empty": // a page's own fetch, or not a browser that says so
		return !isStream(r.Header) && !isAssetName(r.URL.Path)
	}
	return false // script, style, image, font and the like
}

// header returns a header's first value. The name must be in canonical form: unlike
// Header.Get it does not convert it.
func header(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// isSpeculative reports whether a browser fetches a page before its person asks for it.
// Sec-Purpose is the standard; Chrome and Safari used to send Purpose or X-Purpose, and
// Firefox X-Moz.
func isSpeculative(h http.Header) bool {
	for _, name := range [...]string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if v := header(h, name); v != "" &&
			(strings.Contains(v, "prefetch") || strings.Contains(v, "prerender") || strings.Contains(v, "preview")) {
			return true
		}
	}
	return false
}

// isStream reports whether a request opens a WebSocket or an event stream.
func isStream(h http.Header) bool {
	return strings.EqualFold(header(h, "Upgrade"), "websocket") || strings.Contains(header(h, "Accept"), "text/event-stream")
}

// isAssetName reports whether a path has the name of a script, style, image or the like.
func isAssetName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".css", ".js", ".mjs", ".map", ".wasm", ".json", ".webmanifest",
		".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg", ".ico",
		".woff", ".woff2", ".ttf", ".otf", ".eot",
		".mp3", ".mp4", ".m4a", ".ogg", ".wav", ".webm", ".vtt":
		return true
	}
	return false
}

// sharedCacheMayStore reports whether a cache that serves several visitors may store a
// response (RFC 9111, section 3).
func sharedCacheMayStore(h http.Header) bool {
	shared, checked := false, false
	for _, line := range h["Cache-Control"] {
		for line != "" {
			var directive string
			directive, line, _ = strings.Cut(line, ",")
			name, _, _ := strings.Cut(directive, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "private", "no-store":
				return false
			case "public", "s-maxage", "max-age":
				shared = true
			case "no-cache":
				checked = true // by the site, before it is used
			}
		}
	}
	return shared || !checked && expiresLater(h)
}

// expiresLater reports whether a response says that it may be used until a time in the
// future.
func expiresLater(h http.Header) bool {
	expires := header(h, "Expires")
	if expires == "" {
		return false
	}
	at, err := http.ParseTime(expires)
	return err == nil && at.After(time.Now())
}
