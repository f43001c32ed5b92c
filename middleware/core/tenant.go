package core

import (
	"unsafe"

	"github.com/rollcall-go/rollcall/presence"
)

// tenantOf calls the site's Tenant. It returns [presence.NoTenant] after a panic, and for a
// name that is not valid: never the empty tenant, which is a site too.
func (rec *Recorder[C]) tenantOf(c C) (tenant string) {
	tenant = presence.NoTenant
	defer rec.engine.faults.Guard("presence: Tenant of the middleware panicked; the visitor sees nothing")
	if tenant = rec.tenant(c); !presence.ValidTenant(tenant) {
		rec.engine.faults.Error("presence: Tenant of the middleware returned a name that is not valid; the visitor sees nothing", "tenant", shownID(tenant))
		return presence.NoTenant
	}
	return tenant
}

// enter fills in the names inside (see presence.Topic.In) by which the visit is recorded. A cookie of another
// tenant is ignored.
func (v *requestVisit) enter(visitor *presence.Visitor, n *names) {
	v.tenant, v.topic, v.user = visitor.Tenant, v.engine.topic, visitor.User.ID
	if v.cookie.tenant != v.tenant {
		v.cookie, v.returned = cookie{}, false
	}
	if v.tenant == "" {
		return
	}
	v.topic = presence.Topic(n.text(v.topic.AppendIn(n.room(), v.tenant)))
	if v.user != "" {
		v.user = presence.UserID(n.text(v.user.AppendIn(n.room(), v.tenant)))
	}
}

// kept returns the topic as a string of its own, because the tracker keeps it and would otherwise keep the
// whole request in memory.
func (v *requestVisit) kept() presence.Topic { return v.engine.topic.In(v.tenant) }

// inside returns the name inside (see presence.Topic.In) of a guest, or of anything else that is counted for
// each tenant.
func (v *requestVisit) inside(name string) string { return inside(v.tenant, name) }

func inside(tenant, name string) string { return string(presence.UserID(name).In(tenant)) }

// names has room for the names inside of one request, so that a throttled page view allocates nothing for
// them. It is a part of the request's one allocation. Names that do not fit are allocated.
type names struct {
	used  int
	bytes [64]byte
}

// room returns an empty slice of the free bytes.
func (n *names) room() []byte { return n.bytes[n.used:n.used] }

// text returns the bytes that were appended to the room as a string. They are never written again.
func (n *names) text(b []byte) string {
	if len(b) <= len(n.bytes)-n.used {
		n.used += len(b)
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}
