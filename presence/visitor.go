package presence

import "context"

// A Visitor is who asks for a page or a stream: a user, or a guest.
// The middleware identifies the visitor once a request and puts it into the
// request's context; handlers and templates take it from there.
type Visitor struct {
	// User is the signed-in user. Its ID is empty for a guest.
	User User
	// Guest is the opaque id of a guest's browser. It is empty for users, and
	// for guests who are not counted, such as crawlers.
	Guest string
}

// SignedIn reports whether the visitor is a user and not a guest.
func (v Visitor) SignedIn() bool { return v.User.ID != "" }

type visitorKey struct{}

// visitorContext is a context with a visitor: one allocation on the way of
// every request, where context.WithValue would need two.
type visitorContext struct {
	context.Context
	visitor Visitor
}

func (c *visitorContext) Value(key any) any {
	if key == (visitorKey{}) {
		return &c.visitor
	}
	return c.Context.Value(key)
}

// ContextWithVisitor returns a copy of ctx that carries v.
func ContextWithVisitor(ctx context.Context, v Visitor) context.Context {
	return &visitorContext{ctx, v}
}

// VisitorFromContext returns the visitor that [ContextWithVisitor] put into
// ctx, or a guest without an id where there is none.
func VisitorFromContext(ctx context.Context) Visitor {
	if v, ok := ctx.Value(visitorKey{}).(*Visitor); ok {
		return *v
	}
	return Visitor{}
}
