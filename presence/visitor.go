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
	// Guest is the opaque id of a guest's browser. It is empty for users, for crawlers, and
	// for guests whose browser has brought no id back yet.
	Guest string
	// Passing is set for a guest whose browser has sent no cookie. Such a guest counts while a stream is open,
	// and for the grace after it. Passing tells the client from others, as far as that is known without a
	// cookie. Guest is then the id that the browser is about to get, or empty if it gets none.
	Passing string
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

// A VisitorContext is the context that [ContextWithVisitor] returns. A middleware may embed it in a larger
// struct, which saves an allocation for each request. Do not change a VisitorContext once it is passed on.
type VisitorContext struct {
	context.Context // the one before it; required
	Visitor         Visitor
	Identified      time.Time // just before identify was called; zero: it was not

	// Finder finds Visitor.Device when [VisitorFromContext] asks for the visitor. It is lazy because most
	// pages do not need the device. Nil: the device is the one in Visitor.
	Finder DeviceFinder

	found         atomic.Pointer[Device] // by Finder
	reached       atomic.Bool
	element, head atomic.Bool // see ShowElement and ShowHead
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

// Reached reports whether the request has reached the presence endpoints: [ReachEndpoint] was called with c,
// or with a context derived from it.
func (c *VisitorContext) Reached() bool { return c.reached.Load() }

// An Approach says how far a request has come: to the middleware that identifies visitors, or to the presence
// endpoints. It is for a handler that runs before everything else on the site, such as
// handlers.Handler.Beats.
type Approach struct{ reached atomic.Bool }

// ContextWithApproach returns the Approach that ctx carries, or a copy of ctx with a new one.
func ContextWithApproach(ctx context.Context) (context.Context, *Approach) {
	if a, ok := ctx.Value(approachKey{}).(*Approach); ok {
		return ctx, a
	}
	a := new(Approach)
	return context.WithValue(ctx, approachKey{}, a), a
}

// Reached reports whether [ReachMiddleware] or [ReachEndpoint] was called with the context, or with one
// derived from it.
func (a *Approach) Reached() bool { return a.reached.Load() }

type approachKey struct{}

// ReachMiddleware notes in the context of a request that it has reached the presence
// middleware.
func ReachMiddleware(ctx context.Context) {
	if a, ok := ctx.Value(approachKey{}).(*Approach); ok {
		a.reached.Store(true)
	}
}

// ReachEndpoint notes in the context of a request that it has reached the presence endpoints. The middleware
// in front of them then knows that they are mounted. This works also with two middlewares, and with one in
// between that changes the visitor.
func ReachEndpoint(ctx context.Context) {
	ReachMiddleware(ctx)
	note(ctx, func(c *VisitorContext) { c.reached.Store(true) })
}

// ShowElement notes that the page of a request has an element that a stream keeps live, and ShowHead that it
// has the head that links the script. The middleware in front then knows which pages browsers must make live.
func ShowElement(ctx context.Context) { note(ctx, func(c *VisitorContext) { c.element.Store(true) }) }

// ShowHead is described with [ShowElement].
func ShowHead(ctx context.Context) { note(ctx, func(c *VisitorContext) { c.head.Store(true) }) }

// Shown reports what was noted by [ShowElement] and by [ShowHead].
func (c *VisitorContext) Shown() (element, head bool) { return c.element.Load(), c.head.Load() }

// note calls fn for the visitor of each middleware that a request has passed.
func note(ctx context.Context, fn func(*VisitorContext)) {
	c, ok := ctx.Value(reachKey{}).(*VisitorContext)
	for ok {
		fn(c)
		c, ok = c.Context.Value(reachKey{}).(*VisitorContext)
	}
}

type reachKey struct{}

// Value returns the visitor for the key of [VisitorFromContext], and otherwise the value of the parent
// context.
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

// IdentifiedAt returns when the visitor in ctx was identified: VisitorContext.Identified, or the time of the
// call of ContextWithVisitor. It is zero if unknown.
func IdentifiedAt(ctx context.Context) time.Time {
	if c, ok := ctx.Value(visitorKey{}).(*VisitorContext); ok {
		return c.Identified
	}
	return time.Time{}
}

// Unidentified reports whether a request has passed a middleware that had no need to identify its visitor, such
// as of a beat.
func Unidentified(ctx context.Context) bool {
	c, ok := ctx.Value(visitorKey{}).(*VisitorContext)
	return ok && c.Identified.IsZero()
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
