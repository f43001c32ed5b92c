package handlers

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
)

// An endpoint serves one path.
type endpoint struct {
	methods []string
	// holds: the request holds its user online even if its method is GET. So pages of other origins may not
	// send it.
	holds bool
	// user: guests get the answer of presence.ErrGuest.
	user bool
	// static: the answer is the same for all visitors and has no rate.
	static bool
	// serve answers the visitor's request. It returns an error only if nothing was written.
	serve func(w http.ResponseWriter, r *http.Request, v presence.Visitor) error
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	presence.ReachEndpoint(r.Context())
	r = h.cfg.withoutSlash(r)
	if presence.Unidentified(r.Context()) && h.servedByToken(w, r) {
		return
	}
	h.cfg.bound(w, r)
	if err := h.serve(w, r); err != nil {
		h.fail(w, r, err)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	e, err := h.route(r, v)
	if err != nil {
		return err
	}
	if !e.static {
		by, ok := h.limits.open(r, v)
		if !ok {
			return errTooManyRequests()
		}
		if e.holds {
			by.Close()
		}
		defer by.Close()
		r = r.WithContext(gate.With(r.Context(), by.Take))
	}
	if e.user && !v.SignedIn() {
		return presence.ErrGuest
	}
	return e.serve(w, r, v)
}

// route returns the endpoint of a request, or an error for a request that is refused.
func (h *Handler) route(r *http.Request, v presence.Visitor) (e endpoint, err error) {
	e, ok := h.endpoints[h.cfg.endpointName(r.URL.Path)]
	if !ok {
		return e, h.nothingAt(r)
	}
	if !slices.Contains(e.methods, r.Method) {
		return e, methodNotAllowed(e.methods)
	}
	if e.holds {
		h.tracker.MeetStream()
		h.findTimeouts(r)
	}
	if !h.cfg.sameOrigin(r, e.holds) {
		h.counters.foreign.Add(1)
		return e, forbidden("A page of another origin may not send this request.")
	}
	if !e.static && !presence.ValidTenant(v.Tenant) {
		return e, errNoTenant()
	}
	if (r.Method == http.MethodPut || r.Method == http.MethodDelete) && ofAnother(r.URL.Query(), v) {
		return e, errOfAnother()
	}
	if !e.static && !v.SignedIn() && h.site.behindProxy(r) {
		foundProxy(h.tracker, r)
	}
	return e, nil
}

func errTooManyRequests() error {
	return again(http.StatusTooManyRequests, 1, "Too many requests within one second.")
}

// endpointName returns the endpoint that a path names: "roster", or "assets/" for all paths below that. A path
// that is not clean names no endpoint, so that nobody can evade checks of paths.
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

// withoutSlash returns a request for an endpoint without the slash that middleware has added to its path.
func (s *settings) withoutSlash(r *http.Request) *http.Request {
	name, slash := strings.CutSuffix(r.URL.Path, "/")
	if !slash || s.prefix == "" || !strings.HasPrefix(name, s.prefix+"/") {
		return r
	}
	r = r.WithContext(r.Context())
	without := *r.URL
	without.Path, without.RawPath = name, strings.TrimSuffix(without.RawPath, "/")
	r.URL = &without
	return r
}

// maxShownPath bounds the part of a path that is shown in a log or an answer, in bytes.
const maxShownPath = 100

// nothingAt returns the answer to a request whose path names no endpoint. If the path would name one under
// another prefix, the handler is mounted at the wrong place, and nothingAt reports that.
func (h *Handler) nothingAt(r *http.Request) error {
	if under(r.URL.Path, h.cfg.prefix) {
		return notFound("There is nothing at this path.")
	}
	shown := r.URL.EscapedPath()
	if len(shown) > maxShownPath {
		shown = shown[:maxShownPath] + "…"
	}
	if h.namesEndpoint(r.URL.Path) {
		h.tracker.Found(presence.WrongPrefix, "path", shown, "prefix", h.cfg.prefix)
	}
	return notFound("The presence handler serves paths under " + h.cfg.prefix + "/, and was asked for " + shown +
		". Mount it under Config.Prefix, without http.StripPrefix.")
}

// under reports whether a path is a prefix or below it.
func under(p, prefix string) bool {
	rest, ok := strings.CutPrefix(p, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// namesEndpoint reports whether a path is that of an endpoint under any prefix. A handler that serves a whole
// host also gets other paths, such as /favicon.ico.
func (h *Handler) namesEndpoint(p string) bool {
	_, ok := h.endpoints[path.Base(p)]
	return ok || strings.Contains(p, "/assets/")
}

// sameOrigin reports whether the page that sent a request may send it. Browsers let any page send a GET, so a
// GET that holds a user is checked like a POST. Without TLS such a GET, for example from <img src="…/poll">,
// may have neither Sec-Fetch-Site nor Origin; then its Referer counts.
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
