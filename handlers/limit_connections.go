package handlers

import (
	"net/http"
	"sync"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
)

// openBy counts open connections by a name: those of guests by address, or those of all visitors by tenant.
type openBy struct {
	limit int // of one name; negative: any number

	mu   sync.Mutex
	open map[string]int
}

// acquire counts one more, and reports false if that were too many.
func (o *openBy) acquire(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.limit >= 0 && o.open[name] >= o.limit {
		return false
	}
	o.open[name]++
	return true
}

// release takes back one acquire.
func (o *openBy) release(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[name]--; o.open[name] == 0 {
		delete(o.open, name)
	}
}

// shareOfTenant is the part of the node's connections that one tenant may have open by default: one half. A
// tenant's share of the topics is smaller: a client can make up topics, but a tenant with most of the site's
// visitors also has most of its connections.
const shareOfTenant = 2

// An admission is how a connection was counted.
type admission struct {
	tenant  string
	guest   bool
	address string // of a guest; empty for a user
}

// admit counts a connection: on the node, by its tenant, and that of a guest by its address.
// discharge undoes admit. The tracker counts the connections of each user.
func (l *limits) admit(r *http.Request, v presence.Visitor) (admission, error) {
	if n := l.connections.Add(1); l.maxConnections >= 0 && n > int64(l.maxConnections) {
		l.connections.Add(-1)
		l.counters.full.Add(1)
		return admission{}, errFull()
	}
	in := admission{tenant: v.Tenant, guest: !v.SignedIn()}
	if in.tenant != "" && !l.tenants.acquire(in.tenant) {
		l.connections.Add(-1)
		l.counters.tenantFull.Add(1)
		return admission{}, errFull()
	}
	if in.guest {
		if in.address = l.site.address(r); !l.acquire(in) {
			l.leave(in)
			return admission{}, presence.ErrTooManyConnections
		}
	}
	return in, nil
}

func errFull() error {
	return again(http.StatusServiceUnavailable, 10, "This server has no room for more streams. Try again later.")
}

// acquire counts a guest's connection by its address: in its tenant, and over all tenants. A site without
// tenants needs only the first count.
func (l *limits) acquire(in admission) bool {
	own := gate.AddressIn(in.tenant, in.address)
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
	l.leave(in)
	if in.guest {
		l.addresses.release(gate.AddressIn(in.tenant, in.address))
		if in.tenant != "" {
			l.everywhere.release(in.address)
		}
	}
}

// leave uncounts a connection of the node and its tenant.
func (l *limits) leave(in admission) {
	l.connections.Add(-1)
	if in.tenant != "" {
		l.tenants.release(in.tenant)
	}
}
