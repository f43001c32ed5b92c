package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Pass is a verified token of this fleet. A beat and a leave need nothing else: neither the visitor's
// cookie nor the site's session. Use it for one request.
type Pass struct {
	tokens *tokens
	claim  claim
	conn   *holder // nil: another node's, or gone
	here   bool    // the connection is, or was, one of this node's
}

// Connection returns the unique name of the connection.
func (p Pass) Connection() presence.Holder { return p.claim.id }

// Tenant returns the tenant whose site the connection belongs to.
func (p Pass) Tenant() string { return p.claim.tenant }

// User returns the user whom the connection holds; empty: it is a guest's.
func (p Pass) User() presence.UserID { return p.claim.user }

// Identified returns when the visitor of the connection was identified, which is about when the connection was
// opened.
func (p Pass) Identified() time.Time {
	at, _ := identifiedAt(p.claim.id)
	return at
}

// Local reports whether the connection is one of this node, so that Beat and Leave do not wait.
func (p Pass) Local() bool { return p.here }

// Beat is [Tracker.Beat]. The token is the only authority.
func (p Pass) Beat(ctx context.Context, page Page) (alive bool, err error) {
	return p.tokens.beat(ctx, p.claim, p.conn, p.here, presence.Visitor{Tenant: p.claim.tenant}, page)
}

// Leave is [Tracker.Leave]. The token is the only authority.
func (p Pass) Leave(ctx context.Context) error {
	return p.tokens.leave(ctx, p.claim, p.conn, p.here)
}
