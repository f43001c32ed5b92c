package handlers

import (
	"net/http"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// addresses counts the connections that guests have open, by address.
type addresses struct {
	limit int // of one address; negative: any number

	mu   sync.Mutex
	open map[string]int
}

// acquire counts one more, and reports false if that were too many.
func (a *addresses) acquire(address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit >= 0 && a.open[address] >= a.limit {
		return false
	}
	a.open[address]++
	return true
}

// release takes back one acquire.
func (a *addresses) release(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[address]--; a.open[address] == 0 {
		delete(a.open, address)
	}
}

// An admission is how a connection was counted.
type admission struct {
	guest           bool
	tenant, address string // of a guest
}

// admit counts a connection, and that of a guest by its address too. discharge undoes
// admit. The tracker counts the connections of each user.
func (l *limits) admit(r *http.Request, v presence.Visitor) (admission, error) {
	if n := l.connections.Add(1); l.maxConnections >= 0 && n > int64(l.maxConnections) {
		l.connections.Add(-1)
		l.counters.full.Add(1)
		return admission{}, again(http.StatusServiceUnavailable, 10, "This server has no room for more streams. Try again later.")
	}
	if v.SignedIn() {
		return admission{}, nil
	}
	in := admission{guest: true, tenant: v.Tenant, address: l.site.address(r)}
	if !l.acquire(in) {
		l.connections.Add(-1)
		return admission{}, presence.ErrTooManyConnections
	}
	return in, nil
}

// acquire counts a guest's connection by its address: in its tenant, and over all tenants. A site
// without tenants needs the first alone.
func (l *limits) acquire(in admission) bool {
	own := addressIn(in.tenant, in.address)
	if !l.addresses.acquire(own) {
		return false
	}
	if in.tenant != "" && !l.everywhere.acquire(in.address) {
		l.addresses.release(own)
		return false
	}
	return true
}

// discharge undoes admit.
func (l *limits) discharge(in admission) {
	l.connections.Add(-1)
	if in.guest {
		l.addresses.release(addressIn(in.tenant, in.address))
		if in.tenant != "" {
			l.everywhere.release(in.address)
		}
	}
}
