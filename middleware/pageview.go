package middleware

import (
	"net/http"
	"path"
	"strings"
)

// isPageView reports whether a request outside the presence endpoints is one
// that a person may have made to see a page.
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

// header returns a header's first value. Unlike Header.Get it takes the name
// as it is, which is to be in canonical form.
func header(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// isSpeculative reports whether a browser fetches what a person may ask for
// later. Sec-Purpose is the standard; Chrome and Safari used to say Purpose or
// X-Purpose, and Firefox X-Moz.
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

// isAssetName tells by the name whether a path is of something that pages are
// made of.
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

// isCrawler reports whether a user agent says that it is a program that reads
// the web: by one of the usual words, or by naming a page that tells of it, which
// no browser does. Tools such as curl say neither; they seldom keep cookies, and
// those that do stand for somebody.
func isCrawler(userAgent string) bool {
	for i := range len(userAgent) {
		rest, word := userAgent[i:], ""
		switch rest[0] {
		case 'b', 'B':
			if word = "bot"; strings.HasSuffix(userAgent[:i], "CU") {
				continue // CUBOT makes telephones
			}
		case 'c', 'C':
			word = "crawl"
		case 's', 'S':
			word = "spider"
		case 'm', 'M':
			word = "mediapartners-google"
		case 'g', 'G':
			word = "google-inspectiontool"
		case ':':
			word = "://"
		default:
			continue
		}
		if len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) {
			return true
		}
	}
	return false
}

// sharedCacheMayStore reports whether a response may be kept by a cache that
// serves more than one visitor (RFC 9111, section 3).
func sharedCacheMayStore(h http.Header) bool {
	shared := false
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
			}
		}
	}
	return shared
}
