package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Beats returns a handler that answers beats and leaves by itself, and gives next all other
// requests. A site mounts it before its own middleware:
//
//	http.Server{Handler: live.Beats(sessions(whosOnline(mux)))}
//
// A beat needs no cookie, no session and no identify: the token that the page sends was
// signed by the fleet, and is the only authority. So a beat then costs the site nothing, and
// the handler a few microseconds. Without Beats all works as well, and each beat goes through
// the site's middleware.
//
// What is checked: that no page of another origin sends the request, the size of the body
// (MaxBody), the token, its tenant ([Config].Tenant), and how often the connection sends
// (MaxRate). Requests about a connection of another node ask the store, so they count with
// the user's requests too. Requests that are refused count by their address. With a token that
// this fleet did not make they are answered 410, and the store is not asked.
//
// A beat with a query, as of a page that joins the stream of another tab (?joined=1), goes to
// next: the middleware also has to set a cookie then. That is once a page view.
//
// Of the requests for endpoints that it gives to next it reports one that comes neither to the
// presence middleware nor to the handler: [presence.LoginWall].
//
// Beats has the form of a middleware of net/http. It may be called concurrently.
func (h *Handler) Beats(next http.Handler) http.Handler {
	beat, leave := h.cfg.prefix+"/beat", h.cfg.prefix+"/leave"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if r.Method != http.MethodPost || path != beat && path != leave || r.URL.RawQuery != "" {
			h.watched(next, w, r)
			return
		}
		b := bodies.Get().(*[]byte)
		defer bodies.Put(b)
		switch err := h.beats.byToken(w, r, path == beat, b); {
		case err == errToNext:
			h.watched(next, w, r)
		case err == nil:
		case h.limits.overRateAt(r):
			h.fail(w, r, errTooManyRequests())
		default:
			h.fail(w, r, err)
		}
	})
}

// watched gives a request to next, and reports one for an endpoint that is stopped on its way.
func (h *Handler) watched(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if _, ok := h.endpoints[h.cfg.endpointName(r.URL.Path)]; !ok || r.Method == http.MethodOptions {
		next.ServeHTTP(w, r)
		return
	}
	ctx, approach := presence.ContextWithApproach(r.Context())
	next.ServeHTTP(w, r.WithContext(ctx))
	if approach.Reached() {
		return
	}
	found := presence.LoginWall
	if r.Method == http.MethodPost {
		found = presence.BeatsRefused
	}
	h.tracker.Found(found, "endpoint", h.cfg.endpointName(r.URL.Path), "location", shownLocation(w.Header()))
}

// shownLocation returns to where an answer leads, for a log, without its query.
func shownLocation(header http.Header) string {
	to, _, _ := strings.Cut(header.Get("Location"), "?")
	return to[:min(len(to), maxShownPath)]
}

// errToNext gives a request to the site after all: only the site's middleware knows its tenant.
var errToNext = errors.New("the site serves this request")

// serveByToken serves a beat or a leave. It returns an error only if nothing was written.
func (e *beatEndpoints) byToken(w http.ResponseWriter, r *http.Request, isBeat bool, b *[]byte) error {
	if !e.cfg.sameOrigin(r, false) {
		e.counters.foreign.Add(1)
		return forbidden("A page of another origin may not send this request.")
	}
	body, err := readBodyInto(w, r, e.cfg.MaxBody, b)
	if err != nil {
		return err
	}
	said, err := parseReport(body)
	if err != nil {
		return err
	}
	pass, err := e.pass(r, said.Connection)
	if errors.Is(err, presence.ErrForeignToken) {
		return gone()
	}
	if err != nil {
		return err
	}
	if e.cfg.Tenant == nil && pass.Tenant() != "" {
		r.Body = keptBody(body)
		return errToNext
	}
	if e.cfg.Tenant != nil {
		tenant := e.site.tenant(r)
		if !presence.ValidTenant(tenant) {
			return errNoTenant()
		}
		if tenant != pass.Tenant() {
			return gone()
		}
	}
	if e.limits.beats.exceeded(string(pass.Connection())) || !pass.Local() && e.limits.overRateOf(pass.User()) {
		return errTooManyRequests()
	}
	return e.report(w, r, pass, said, isBeat)
}

// pass checks a token. It needs the store only on a node that has just started.
func (e *beatEndpoints) pass(r *http.Request, token presence.Token) (track.Pass, error) {
	pass, err := e.tracker.Pass(expired, token)
	if !errors.Is(err, presence.ErrStoreOut) {
		return pass, err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	return e.tracker.Pass(ctx, token)
}

// expired is a context that waits for nothing.
var expired = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// report does what a page says of its connection.
func (e *beatEndpoints) report(w http.ResponseWriter, r *http.Request, pass track.Pass, said pageReport, isBeat bool) error {
	ctx := r.Context()
	if !pass.Local() {
		limited, cancel := storeContext(r)
		defer cancel()
		ctx = limited
	}
	if !isBeat {
		_ = pass.Leave(ctx) // see leave
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	alive, err := pass.Beat(ctx, said.page())
	if err != nil {
		return err
	}
	if !alive {
		return gone()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
