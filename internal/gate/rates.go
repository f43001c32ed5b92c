package gate

import (
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Rates limits the requests of each visitor: of users by their id, of guests by the id of their browser and by
// their address. A browser id alone is no limit, since a client can make up ids. An address in one tenant is
// none either, since a client can name many tenants.
type Rates struct {
	Users      Meter[presence.UserID]
	guests     Meter[string]
	addresses  Meter[string] // in each tenant
	everywhere Meter[string] // addresses over all tenants
}

// guestsPerAddress is how many times the rate of one visitor all guests at one address may send together.
const guestsPerAddress = 4

// TenantsPerAddress is how many times the limit of one tenant an address has over all tenants together. A
// client may use as many tenants as it knows hosts of.
const TenantsPerAddress = 8

// AddressIn returns the name under which an address counts in a tenant. So guests of one tenant do not use up
// the limit of another one's guests at the same address.
func AddressIn(tenant, address string) string { return string(presence.UserID(address).In(tenant)) }

// Init sets the pace of one visitor. crowded is as for [Meter.Init].
func (r *Rates) Init(p Pace, crowded *atomic.Uint64) {
	r.Users.Init(p, crowded)
	r.guests.Init(p, crowded)
	if p.interval > 0 {
		p = p.times(guestsPerAddress)
		p.debt = maxDebt
	}
	r.addresses.Init(p, crowded)
	if p.interval > 0 {
		p = p.times(TenantsPerAddress)
	}
	r.everywhere.Init(p, crowded)
}

// Off reports whether no request has a limit.
func (r *Rates) Off() bool {
	return r.Users.Off() && r.guests.Off() && r.addresses.Off() && r.everywhere.Off()
}

// Size returns how many keys have a bucket.
func (r *Rates) Size() int {
	return r.Users.Size() + r.guests.Size() + r.addresses.Size() + r.everywhere.Size()
}

// A Caller is who asks for something: a user, or a guest by browser and address.
type Caller struct {
	Tenant, Address string // the address of a user is needed for TakeAt only
	User            presence.UserID
	Guest           string
}

// CallerOf returns the Caller that a visitor is.
func CallerOf(v presence.Visitor, address string) Caller {
	return Caller{v.Tenant, address, v.User.ID, v.Guest}
}

// Take takes points of a user, or of a guest and the guest's address, and reports whether there was a token.
func (r *Rates) Take(c Caller, points int, when When) bool {
	switch {
	case r.Off():
		return true
	case c.User != "":
		return r.Users.takeWhen(c.User, points, when, time.Now())
	}
	return r.TakeAt(c, points, when)
}

// TakeAt takes points of an address and of the visitor there, or neither. A guest without a browser id has no
// bucket of its own.
func (r *Rates) TakeAt(c Caller, points int, when When) bool {
	now, own := time.Now(), AddressIn(c.Tenant, c.Address)
	if !r.addresses.takeWhen(own, points, when, now) {
		return false
	}
	over := c.Tenant != "" && !r.everywhere.takeWhen(c.Address, points, when, now)
	switch {
	case over:
	case c.User != "" && r.Users.takeWhen(c.User, points, when, now):
		return true
	case c.User == "" && (c.Guest == "" || r.guests.takeWhen(c.Guest, points, when, now)):
		return true
	}
	r.addresses.giveBack(own, points) // a refused visitor must not use up the tokens of others at the address
	if c.Tenant != "" && !over {
		r.everywhere.giveBack(c.Address, points)
	}
	return false
}
