package backend

import (
	"context"
	"time"
)

// A NodeStore keeps a lease for each node's process (rule 23), so that its users leave within
// seconds of its end. Without it they stay until their own leases expire.
type NodeStore interface {
	// RenewNode renews the lease of a node's process for a term from now on, or makes it (rule 23). alive is
	// false if the store knew no unexpired lease of the process. The connections of the process may then have
	// been swept, and the node must make their leases again. next is how long it takes until the next lease
	// of any process lapses, if it is not renewed before; 0 or less: one has lapsed. Until then a sweep need
	// not look at processes. A term of 0 ends the lease: the process has released what hung on it, and no
	// sweep follows. RenewNode costs one round trip.
	RenewNode(ctx context.Context, process string, term time.Duration) (alive bool, next time.Duration, err error)
}
