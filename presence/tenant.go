package presence

import (
	"strings"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// Several sites may share one fleet: the tenants. Visitor.Tenant names a visitor's site, and
// comes from the site's identify function alone. Inside, a tenant's topics, users and guests
// have the tenant in their names, behind which comes a byte that no request can spell. So
// equal names of two tenants are two names wherever they are kept: in memory, in the store, in
// SQL, in cursors and in tokens.
//
//	outside                     inside
//	thread:42 of tenant acme    acme/thread:42
//	user alice of tenant acme   acme, the byte 0x1D, alice
//	anything of the tenant ""   as outside
//
// Whatever comes from a request or from identify is taken inside by In, whatever goes to a page
// or to a function of the site for pages comes out by Local. Go programs that ask the Tracker
// give and get the names of inside.

// MaxTenantLen is the length of the longest tenant, in bytes.
const MaxTenantLen = 32

// NoTenant is the tenant of a visitor whose own tenant is not valid. [ValidTenant] refuses it, its topics are
// always empty, and handlers refuse its requests.
const NoTenant = "!"

// ValidTenant reports whether s can be a [Visitor].Tenant: 1 to 32 bytes of a-z 0-9 and -, or
// empty, which is a tenant like any other.
func ValidTenant(s string) bool {
	if len(s) > MaxTenantLen {
		return false
	}
	for i := range len(s) {
		if b := s[i]; !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-') {
			return false
		}
	}
	return true
}

// In returns the topic's name inside, for a tenant. Equal topics of two tenants have different names inside.
// It costs an allocation, and nothing for the empty tenant.
func (t Topic) In(tenant string) Topic { return Topic(qualify(tenant, wire.TopicSeparator, string(t))) }

// AppendIn appends what In returns to b. It allocates only where b has no room.
func (t Topic) AppendIn(b []byte, tenant string) []byte {
	return appendQualified(b, tenant, wire.TopicSeparator, string(t))
}

// Local returns the topic's name as pages know it: without the tenant. It does not allocate.
func (t Topic) Local() Topic { return Topic(local(wire.TopicSeparator, string(t))) }

// Tenant returns the tenant to which the topic belongs; "" for the empty tenant.
func (t Topic) Tenant() string { return tenantOf(wire.TopicSeparator, string(t)) }

// In returns the id inside, for a tenant. Equal ids of two tenants are two users. It costs an allocation, and
// nothing for the empty tenant.
func (id UserID) In(tenant string) UserID {
	return UserID(qualify(tenant, wire.UserSeparator, string(id)))
}

// AppendIn appends what In returns to b. It allocates only where b has no room.
func (id UserID) AppendIn(b []byte, tenant string) []byte {
	return appendQualified(b, tenant, wire.UserSeparator, string(id))
}

// Local returns the id as identify returned it. It does not allocate.
func (id UserID) Local() UserID { return UserID(local(wire.UserSeparator, string(id))) }

// Tenant returns the tenant to which the user belongs; "" for the empty tenant.
func (id UserID) Tenant() string { return tenantOf(wire.UserSeparator, string(id)) }

// Inside returns the visitor with names inside, as the Tracker needs it. v must be as identify returned it:
// do not call Inside twice. It costs an allocation for a user or guest of a tenant, and nothing for the empty
// tenant.
func (v Visitor) Inside() Visitor {
	if v.User.ID != "" {
		v.User.ID = v.User.ID.In(v.Tenant)
	}
	if v.Guest != "" {
		v.Guest = qualify(v.Tenant, wire.UserSeparator, v.Guest)
	}
	return v
}

// Outside is the inverse of Inside, for functions that the site supplies.
func (v Visitor) Outside() Visitor {
	v.User.ID, v.Guest = v.User.ID.Local(), local(wire.UserSeparator, v.Guest)
	return v
}

// ValidateInside is Validate for a user with an id inside, of any tenant.
func (u User) ValidateInside() error {
	if tenant := u.ID.Tenant(); tenant != "" && ValidTenant(tenant) {
		u.ID = u.ID.Local()
	}
	return u.Validate()
}

// ValidateInside is ParseTopic for a name inside, which a Go program passes.
func (t Topic) ValidateInside() error {
	if tenant := t.Tenant(); tenant != "" && ValidTenant(tenant) {
		t = t.Local()
	}
	_, err := ParseTopic(string(t))
	return err
}

// qualify returns the name inside. A client may send a name that contains the separator; the result still
// belongs to the tenant.
func qualify(tenant, separator, name string) string {
	if tenant == "" && !strings.Contains(name, separator) {
		return name
	}
	return tenant + separator + name
}

func appendQualified(b []byte, tenant, separator, name string) []byte {
	if tenant != "" || strings.Contains(name, separator) {
		b = append(append(b, tenant...), separator...)
	}
	return append(b, name...)
}

func local(separator, name string) string {
	_, after, ok := strings.Cut(name, separator)
	if !ok {
		return name
	}
	return after
}

func tenantOf(separator, name string) string {
	tenant, _, ok := strings.Cut(name, separator)
	if !ok {
		return ""
	}
	return tenant
}
