package backend

import "context"

// A Checker is a [Core] that can tell whether what it stores in is fit for it. The front door of a site asks
// it at the start. A store need not be one.
type Checker interface {
	// Check returns nil, an error that is [presence.ErrStoreOut] if the store cannot be reached now, or an
	// error that says why the store will never work here.
	Check(ctx context.Context) error
}

// A NodeCounter is a [Core] that knows how many nodes share it. The log of a site's start has the number. A
// store need not be one: the log then says "unknown". It is a count alone. The leases of nodes belong to
// [NodeStore].
type NodeCounter interface {
	// Nodes returns how many nodes share the store now. A node that was killed may still count, and one that
	// has closed does not. It costs one round trip.
	Nodes(ctx context.Context) (int, error)
}
