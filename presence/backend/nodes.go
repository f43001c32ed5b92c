package backend

import (
	"context"
	"time"
)

// A NodeStore keeps a lease for each node's process (rule 23), so that its users leave within
// seconds of its end. Without it they stay until their own leases expire.
type NodeStore interface {
	// RenewNode renews the lease of a node's process for a term from now on, or makes it
	// (rule 23). It returns false if the store knew no lease of the process that had not
	// lapsed. Then the connections of the process may have been swept, and it makes their
	// leases again. next is how long it takes until the lease of any process lapses, unless it
	// is renewed before; 0 or less: one has lapsed. Before that moment a sweep need not look at
	// processes. RenewNode costs one round trip.
	RenewNode(ctx context.Context, process string, term time.Duration) (alive bool, next time.Duration, err error)
}
