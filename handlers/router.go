package handlers

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An endpoint serves one path.
type endpoint struct {
	methods []string
	// holds: the request holds its user online even if its method is GET, so a page of a
	// foreign origin may not send it.
	holds bool
	// static: the answer is the same for all visitors and has no rate.
	static bool
	// serve answers the visitor's request. It returns an error only if nothing was written.
	serve func(w http.ResponseWriter, r *http.Request, v presence.Visitor) error
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		h.fail(w, err)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	v := presence.VisitorFromContext(r.Context())
	e, err := h.route(r, v)
	if err != nil {
		return err
	}
	return e.serve(w, r, v)
}

// route returns the endpoint of a request, or an error for a request that is refused.
func (h *Handler) route(r *http.Request, v presence.Visitor) (e endpoint, err error) {
	e, ok := h.endpoints[h.cfg.endpointName(r.URL.Path)]
	if !ok {
		return e, notFound("There is nothing at this path.")
	}
	if !slices.Contains(e.methods, r.Method) {
		return e, methodNotAllowed(e.methods)
	}
	if !h.cfg.sameOrigin(r, e.holds) {
		h.counters.foreign.Add(1)
		return e, forbidden("A page of another origin may not send this request.")
	}
	if !e.static && h.limits.overRate(r, v) {
		return e, again(http.StatusTooManyRequests, 1, "Too many requests within one second.")
	}
	return e, nil
}

// endpointName returns the endpoint that a path names: "roster", or "assets/" for all
// paths below that. A path that is not clean names none, so that no check of paths can be
// evaded.
func (s *settings) endpointName(p string) string {
	name, ok := strings.CutPrefix(p, s.prefix+"/")
	if !ok || path.Clean(p) != p {
		return ""
	}
	if dir, _, ok := strings.Cut(name, "/"); ok {
		return dir + "/"
	}
	return name
}

// sameOrigin reports whether the page that sent a request may send it. Browsers let any
// page send a GET, so one that holds a user is checked like a POST. Without TLS such a
// GET, as of <img src="…/poll">, may have neither Sec-Fetch-Site nor Origin; then its
// Referer counts.
func (s *settings) sameOrigin(r *http.Request, holds bool) bool {
	if holds {
		r = r.WithContext(r.Context()) // a copy
		r.Method = http.MethodPost
		if from := r.Referer(); from != "" && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
			if page, err := url.Parse(from); err == nil && page.Host != "" {
				r.Header = http.Header{"Origin": {page.Scheme + "://" + page.Host}}
			}
		}
	}
	return s.CrossOrigin.Check(r) == nil
}

// storeWait is how long a request waits for the store. It includes loading a topic that is
// not in the memory of this node.
const storeWait = 2 * time.Second

// storeContext returns the context for calls of the store.
func storeContext(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), storeWait)
}
