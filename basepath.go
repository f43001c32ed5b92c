package rollcall

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// A basePath knows the paths of the endpoints, with the site's base path and without it.
type basePath struct {
	base  string // such as "/reader"; "": the site is at the root
	below string // of endpoints, without the base path: "/presence/"
}

// restored returns a handler that gives the base path back to requests for endpoints, and passes them to
// next.
func (b basePath) restored(next http.Handler) http.Handler {
	if b.base == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, b.restore(r)) })
}

// restore returns a request with the base path, if it is for an endpoint, and something such as a proxy has
// removed the base path.
func (b basePath) restore(r *http.Request) *http.Request {
	if b.base == "" || !strings.HasPrefix(r.URL.Path, b.below) {
		return r
	}
	asItCame := r.URL
	r = r.WithContext(context.WithValue(r.Context(), asItCameKey{}, asItCame))
	r.URL = withBase(asItCame, b.base)
	return r
}

// asItCameKey is the context key of the URL that a request had before restored changed it.
type asItCameKey struct{}

// asItCame returns the request with the URL that it had before restored.
func (b basePath) asItCame(r *http.Request) *http.Request {
	came, ok := r.Context().Value(asItCameKey{}).(*url.URL)
	if !ok {
		return r
	}
	r = r.WithContext(r.Context())
	r.URL = came
	return r
}

// withBase returns a URL whose path begins with base.
func withBase(u *url.URL, base string) *url.URL {
	with := *u
	with.Path = base + u.Path
	if u.RawPath != "" {
		with.RawPath = base + u.RawPath
	}
	return &with
}
