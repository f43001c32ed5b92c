package handlers

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// An endpoint is what one path does.
type endpoint struct {
	methods []string
	// holds: the request does more than read, also where its method says GET,
	// so the page of a foreign origin may not make it.
	holds bool
	// static: it answers with the same bytes to everybody, and has no rate.
	static bool
	// serve answers, or returns an error before it has written anything.
	serve func(w http.ResponseWriter, r *http.Request) error
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		h.fail(w, err)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	e, err := h.route(r)
	if err != nil {
		return err
	}
	return e.serve(w, r)
}

// route returns the endpoint of a request that may be made.
func (h *Handler) route(r *http.Request) (e endpoint, err error) {
	e, ok := h.endpoints[h.name(r.URL.Path)]
	if !ok {
		return e, notFound("There is nothing at this path.")
	}
	if !slices.Contains(e.methods, r.Method) {
		return e, methodNotAllowed(e.methods)
	}
	if !h.sameOrigin(r, e.holds) {
		h.counters.foreign.Add(1)
		return e, forbidden("A page of another origin may not ask for this.")
	}
	if !e.static && h.over(r) {
		return e, again(http.StatusTooManyRequests, 1, "Too many requests within one second.")
	}
	return e, nil
}

// name returns the endpoint that a path names: "roster", or "assets/" for all
// that is below it. A path that is not clean names none, so that none is
// reached by the back door.
func (h *Handler) name(p string) string {
	name, ok := strings.CutPrefix(p, h.prefix+"/")
	if !ok || path.Clean(p) != p {
		return ""
	}
	if dir, _, ok := strings.Cut(name, "/"); ok {
		return dir + "/"
	}
	return name
}

// sameOrigin reports whether the request may come from the page that it comes
// from. Browsers let any page send a GET, so one that holds is judged as the
// POST that it could as well be. A page without TLS may have neither Sec-Fetch-Site
// nor Origin in such a GET, as with <img src="…/poll">; then its Referer counts.
func (h *Handler) sameOrigin(r *http.Request, holds bool) bool {
	if holds {
		r = r.WithContext(r.Context()) // a copy
		r.Method = http.MethodPost
		if from := r.Referer(); from != "" && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
			if page, err := url.Parse(from); err == nil && page.Host != "" {
				r.Header = http.Header{"Origin": {page.Scheme + "://" + page.Host}}
			}
		}
	}
	return h.cfg.CrossOrigin.Check(r) == nil
}

// storeWait is how long an answer waits for the store. A topic that nobody here
// looked at lately is loaded in it.
const storeWait = 2 * time.Second

// storeContext returns the context of a request, for what waits for the store.
func storeContext(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), storeWait)
}
