package rollcall

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// A basePath knows the paths of endpoints with the site's base path and without it.
type basePath struct {
	base  string // such as "/reader"; "": the site is at the root
	below string // of endpoints, without the base path: "/presence/"
}

// restored returns a handler that gives next the requests for endpoints with the base path,
// also those from which something has taken it off.
func (b basePath) restored(next http.Handler) http.Handler {
	if b.base == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, b.below) {
			asItCame := r.URL
			r = r.WithContext(context.WithValue(r.Context(), asItCameKey{}, asItCame))
			r.URL = withBase(asItCame, b.base)
		}
		next.ServeHTTP(w, r)
	})
}

// asItCameKey is the key of the address of a request before restored has changed it.
type asItCameKey struct{}

// asItCame returns the request that restored was given.
func (b basePath) asItCame(r *http.Request) *http.Request {
	came, ok := r.Context().Value(asItCameKey{}).(*url.URL)
	if !ok {
		return r
	}
	r = r.WithContext(r.Context())
	r.URL = came
	return r
}

// withBase returns an address whose path begins with base.
func withBase(u *url.URL, base string) *url.URL {
	with := *u
	with.Path = base + u.Path
	if u.RawPath != "" {
		with.RawPath = base + u.RawPath
	}
	return &with
}
