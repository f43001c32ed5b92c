package backend

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An Inspected is a user of a topic as staff sees the user: see [Store.Inspect]. An
// invisible user is an Inspected too, and has a zero Since and Active.
type Inspected struct {
	presence.Member
	Leases []Lease // what holds the user online, in the order of their holders
}

// A Lease holds a user online in a topic.
type Lease struct {
	Holder presence.Holder
	Pages  int           // the node's pages of the user; 0: unknown, or no node's lease
	Left   time.Duration // until the lease expires; zero or less: expired, and not swept yet
}
