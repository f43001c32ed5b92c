package presence

import (
	"context"
	"sync/atomic"
	"time"
)

// A Visitor is who asks for a page or a stream: a user, or a guest.
// The middleware identifies the visitor once a request and puts it into the
// request's context; handlers and templates take it from there.
type Visitor struct {
	// Tenant names the visitor's site where several share a fleet: see [ValidTenant]. It
	// comes from identify alone: no request names one. Default: "", which is right for a
	// fleet of one site.
	Tenant string
	// User is the signed-in user. Its ID is empty for a guest.
	User User
	// Guest is the opaque id of a guest's browser. It is empty for users, and
	// for guests who are not counted, such as crawlers.
	Guest string
	// Browser is the opaque id of a user's browser, by the presence cookie. It is
	// empty for guests, and where no cookie came back. It is what a client says, so it
	// may only affect connections of the same user: see track.Tracker.SignOff.
	Browser string
	// Device is from where a user asks. It counts only where the site has a
	// track.Config.Directory. Its zero value is a device of which nothing is known.
	Device Device
}

// SignedIn reports whether the visitor is a user and not a guest.
func (v Visitor) SignedIn() bool { return v.User.ID != "" }

type visitorKey struct{}

// A VisitorContext is the context that [ContextWithVisitor] returns, for a
// middleware that makes it part of something larger and so spares an allocation
// on the way of every request. Nothing in it may change once it is passed on.
type VisitorContext struct {
	context.Context // the one before it; required
	Visitor         Visitor
	Identified      time.Time // just before the site was asked who it is; zero: not known

	// Finder finds Visitor.Device once [VisitorFromContext] asks for the visitor, because
	// most pages do not need it. Nil: the device is the one in Visitor.
	Finder DeviceFinder

	found   atomic.Pointer[Device] // by Finder
	reached atomic.Bool
}

// A DeviceFinder finds the device of the visitor of one request. It may be called
// concurrently, and returns the same each time.
type DeviceFinder interface {
	FindDevice() Device
}

// visitor returns the visitor with the device.
func (c *VisitorContext) visitor() Visitor {
	v := c.Visitor
	if c.Finder == nil {
		return v
	}
	found := c.found.Load()
	if found == nil {
		device := c.Finder.FindDevice()
		found = &device
		c.found.Store(found)
	}
	v.Device = *found
	return v
}

// Reached reports whether the request has reached the presence endpoints: whether
// [ReachEndpoint] was called with c, or with a context made from it.
func (c *VisitorContext) Reached() bool { return c.reached.Load() }

// An Approach says whether the request of a context has come as far as presence: to the
// middleware that identifies visitors, or to the endpoints. It is for what stands before all
// else of a site, such as handlers.Handler.Beats.
type Approach struct{ reached atomic.Bool }

// ContextWithApproach returns the Approach that ctx carries, or a copy of ctx with a new one.
func ContextWithApproach(ctx context.Context) (context.Context, *Approach) {
	if a, ok := ctx.Value(approachKey{}).(*Approach); ok {
		return ctx, a
	}
	a := new(Approach)
	return context.WithValue(ctx, approachKey{}, a), a
}

// Reached reports whether [ReachMiddleware] or [ReachEndpoint] was called with the context, or
// with one made from it.
func (a *Approach) Reached() bool { return a.reached.Load() }

type approachKey struct{}

// ReachMiddleware notes in the context of a request that it has reached the presence
// middleware.
func ReachMiddleware(ctx context.Context) {
	if a, ok := ctx.Value(approachKey{}).(*Approach); ok {
		a.reached.Store(true)
	}
}

// ReachEndpoint notes in the context of a request that it has reached the presence
// endpoints. The middleware before them can then tell whether anything does, also where
// there are two, or where something behind it names another visitor.
func ReachEndpoint(ctx context.Context) {
	ReachMiddleware(ctx)
	c, ok := ctx.Value(reachKey{}).(*VisitorContext)
	for ok {
		c.reached.Store(true)
		c, ok = c.Context.Value(reachKey{}).(*VisitorContext)
	}
}

type reachKey struct{}

// Value returns the visitor to [VisitorFromContext], and all else from the
// context before it.
func (c *VisitorContext) Value(key any) any {
	switch key {
	case visitorKey{}, reachKey{}:
		return c
	}
	return c.Context.Value(key)
}

// ContextWithVisitor returns a copy of ctx that carries v.
func ContextWithVisitor(ctx context.Context, v Visitor) context.Context {
	return &VisitorContext{Context: ctx, Visitor: v, Identified: time.Now()}
}

// IdentifiedAt returns the moment of which the identity is that [VisitorFromContext] returns:
// when ContextWithVisitor was called, or VisitorContext.Identified. It is zero where it is not
// known.
func IdentifiedAt(ctx context.Context) time.Time {
	if c, ok := ctx.Value(visitorKey{}).(*VisitorContext); ok {
		return c.Identified
	}
	return time.Time{}
}

// HasVisitor reports whether [ContextWithVisitor] put a visitor into ctx: whether the
// request has passed a middleware that identifies visitors.
func HasVisitor(ctx context.Context) bool { return ctx.Value(visitorKey{}) != nil }

// VisitorFromContext returns the visitor that [ContextWithVisitor] put into
// ctx, or a guest without an id where there is none.
func VisitorFromContext(ctx context.Context) Visitor {
	if c, ok := ctx.Value(visitorKey{}).(*VisitorContext); ok {
		return c.visitor()
	}
	return Visitor{}
}
