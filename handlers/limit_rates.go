package handlers

import (
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
)

// open counts a request, and returns its account, with the work that comes with it. It returns false if the
// visitor has sent too many.
func (l *limits) open(r *http.Request, v presence.Visitor) (*gate.Account, bool) {
	c, rates := gate.CallerOf(v, ""), &l.reads
	switch r.Method {
	case http.MethodPut, http.MethodPost, http.MethodDelete:
		rates = &l.writes
	}
	if !v.SignedIn() && !rates.Off() {
		c.Address = l.site.address(r)
	}
	wait := func() func() { return l.lanes.Enter(r.Context(), c) }
	return gate.NewAccount(c, &l.reads, wait), rates.Take(c, gate.Token, gate.Before)
}

// overRateAt counts a request of a guest, or one without a known visitor, by its address. It reports whether
// too many came from there.
func (l *limits) overRateAt(r *http.Request, tenant string) bool {
	return !l.writes.Off() && !l.writes.TakeAt(gate.Caller{Tenant: tenant, Address: l.site.address(r)}, gate.Token, gate.Before)
}

// Allow counts a request to the site's own code, such as a sign-in or sign-out, and reports whether the
// visitor may send it. If not, the site answers 429 with "Retry-After: 1". The request counts with the
// visitor's PUT, POST and DELETE requests to this handler, by [Config.MaxRate]. It also counts by its address,
// even for a signed-in visitor: all visitors at one address may send four times as many. Allow may be called
// concurrently.
func (h *Handler) Allow(r *http.Request) bool {
	if h.limits.writes.Off() {
		return true
	}
	if h.site.behindProxy(r) {
		foundProxy(h.tracker, r)
	}
	ok := h.limits.writes.TakeAt(gate.CallerOf(visitorOf(r), h.site.address(r)), gate.Token, gate.Before)
	if !ok {
		h.counters.limited.Add(1)
	}
	return ok
}

// AllowReceivers counts the receivers of a message that the site sends for a visitor, such as the authors whom a reply
// notifies, and reports whether the visitor may send it. If not, the site answers 429 with "Retry-After: 1" and does not
// send it. Each receiver costs a row that the fleet writes: 20 of them count as one of the visitor's requests that
// read, and as one of the visitor's address. A message of any size passes if both have one left; the next one then waits
// until all are paid. So a user notifies 1,000 others once a second, and four times at once. AllowReceivers may be called
// concurrently.
func (h *Handler) AllowReceivers(r *http.Request, n int) bool {
	ok := n == 0 || h.limits.reads.Off() || h.limits.reads.TakeAt(gate.CallerOf(visitorOf(r), h.site.address(r)), n*gate.Name, gate.Before)
	if !ok {
		h.counters.limited.Add(1)
	}
	return ok
}

// A perSecond counts events within a second.
type perSecond struct {
	limit int // negative: any number
	begin time.Time
	n     int
}

// exceeded counts one more event, and reports whether that is too many.
func (w *perSecond) exceeded(now time.Time) bool {
	if now.Sub(w.begin) >= time.Second {
		w.begin, w.n = now, 0
	}
	w.n++
	return w.limit >= 0 && w.n > w.limit
}
