package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Beats returns a handler that serves beats and leaves itself, and passes all other requests to next. A site
// mounts it before its own middleware:
//
//	http.Server{Handler: live.Beats(sessions(whosOnline(mux)))}
//
// A beat needs no cookie, no session and no Identify. The fleet signed the token that the page sends, and the
// token alone counts. So a beat costs the site nothing, and the handler a few microseconds. Without Beats
// everything works too, but each beat goes through the site's middleware.
//
// Beats checks that no page of another origin sends the request, the size of the body (MaxBody), the token,
// its tenant ([Config].Tenant), and how often the connection sends (MaxRate). A request about a connection of
// another node needs the store, so it counts with the user's other requests too. A guest's that says hidden
// counts by its address, and so do refused requests. A token that this fleet did not make is answered 410,
// without a call of the store.
//
// A beat with a query goes to next, because the middleware has to set a cookie then. A page sends one
// (?joined=1) once a page view, when it joins the stream of another tab.
//
// Beats also finds requests for endpoints that never reach the presence middleware or the handler behind next.
// It reports one as [presence.LoginWall].
//
// Beats has the form of a middleware of net/http. It may be called concurrently.
func (h *Handler) Beats(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r = h.cfg.withoutSlash(r); !h.servedByToken(w, r) {
			h.watched(next, w, r)
		}
	})
}

// servedByToken serves a beat or a leave without a query, and reports whether it did.
func (h *Handler) servedByToken(w http.ResponseWriter, r *http.Request) bool {
	name := h.cfg.endpointName(r.URL.Path)
	if r.Method != http.MethodPost || name != "beat" && name != "leave" || r.URL.RawQuery != "" {
		return false
	}
	h.cfg.bound(w, r)
	switch err := h.beats.byToken(w, r, name == "beat"); {
	case err == errToNext:
		return false
	case err == nil:
	case h.limits.overRateAt(r, ""):
		h.fail(w, r, errTooManyRequests())
	default:
		h.fail(w, r, err)
	}
	return true
}

// errToNext passes a request to the site after all: only the site's middleware knows its tenant.
var errToNext = errors.New("the site serves this request")

// byToken serves a beat or a leave. It returns an error only if nothing was written.
func (e *beatEndpoints) byToken(w http.ResponseWriter, r *http.Request, isBeat bool) error {
	if !e.cfg.sameOrigin(r, false) {
		e.counters.foreign.Add(1)
		return forbidden("A page of another origin may not send this request.")
	}
	body, err := readBody(w, r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	said, err := decodeReport(body)
	if err != nil {
		return err
	}
	pass, err := e.pass(r, said.Connection)
	if errors.Is(err, presence.ErrForeignToken) || err == nil && e.outlived(pass) {
		return gone()
	}
	if err != nil {
		return err
	}
	tenant := pass.Tenant()
	switch {
	case e.cfg.Tenant != nil:
		tenant = e.site.tenant(r)
	case presence.HasVisitor(r.Context()):
		tenant = presence.VisitorFromContext(r.Context()).Tenant
	case tenant != "":
		r.Body = io.NopCloser(bytes.NewReader(body))
		return errToNext
	}
	if !presence.ValidTenant(tenant) {
		return errNoTenant()
	}
	if tenant != pass.Tenant() {
		return gone()
	}
	if !e.limits.beats.Take(pass.Connection(), gate.Token, time.Now()) {
		return errTooManyRequests()
	}
	if !pass.Local() {
		if err := e.elsewhere(r, pass, said); err != nil {
			return err
		}
	}
	return e.report(w, r, pass, said, isBeat)
}

// maxClockSkew is how far the clocks of two nodes may be apart.
const maxClockSkew = time.Minute

// elsewhere counts a request about a connection of another node: by its user or, if it tells all nodes that a
// guest's page is hidden or not, by its address.
func (e *beatEndpoints) elsewhere(r *http.Request, pass track.Pass, said pageReport) error {
	user := pass.User()
	if user == "" && said.page().Hidden != nil && e.limits.overRateAt(r, pass.Tenant()) || user != "" && !e.limits.writes.Users.Take(user, gate.Token, time.Now()) {
		return errTooManyRequests()
	}
	return nil
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

// expired is a context that has ended: calls with it do not wait.
var expired = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// report does what a page's report about its connection asks for.
func (e *beatEndpoints) report(w http.ResponseWriter, r *http.Request, pass track.Pass, said pageReport, isBeat bool) error {
	ctx := r.Context()
	if !pass.Local() {
		limited, cancel := storeContext(r)
		defer cancel()
		ctx = limited
	}
	if !isBeat {
		_ = pass.Leave(ctx) // an error is not reported: see leave
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
