package core

import (
	"bytes"
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
	case "", "empty": // a page's own fetch, or not a browser that says so
		return !isStream(r.Header) && !isAssetName(r.URL.Path)
	}
	return isNavigation(r) // and not for a script, style, image, font and the like
}

// isNavigation reports whether a browser that says so has sent a request to see a page.
func isNavigation(r *http.Request) bool {
	switch header(r.Header, "Sec-Fetch-Dest") {
	case "document", "iframe", "frame", "fencedframe":
		return r.Method == http.MethodGet && !isSpeculative(r.Header)
	}
	return false
}

// asksForPage reports whether a request says that it is for a page, and not for anything.
func asksForPage(r *http.Request) bool {
	return isNavigation(r) || strings.Contains(header(r.Header, "Accept"), "html")
}

// isPage reports whether the response to a page view is a page: HTML, and no error. Without a type the first
// bytes of its body decide, as they do in net/http, and without these the request does, such as for a 304.
func isPage(r *http.Request, h http.Header, status int, start []byte) bool {
	if status >= http.StatusBadRequest {
		return false
	}
	kind := header(h, "Content-Type")
	if kind == "" && h["Content-Encoding"] == nil && len(bytes.TrimSpace(start)) > 0 {
		kind = http.DetectContentType(start)
	}
	if kind, _, _ = strings.Cut(kind, ";"); kind == "" {
		return asksForPage(r)
	}
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "text/html" || kind == "application/xhtml+xml"
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
