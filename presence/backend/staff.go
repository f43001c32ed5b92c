package backend

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A StaffStore lists topics, and all users in them, including invisible ones. It is for the pages of staff,
// for code that follows all topics of a kind, and for finding out whether an invisible user is at a page.
type StaffStore interface {
	// Topics returns up to most topics that have a user, guest or bot, or had one lately.
	// They are those after a given topic, in the order of their bytes. Invisible users
	// count. A topic of which only last seen, names or a record are left is not among
	// them. An empty topic is, as long as its log stays: for a minute at least. It costs a few
	// round trips.
	Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error)

	// Inspect returns up to most users of a topic with their leases, also invisible users.
	// They are those after a given user, in the order of the bytes of their IDs. It is for
	// staff, and costs a few round trips.
	Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]Inspected, error)
}

// An Inspected is a user of a topic as staff sees the user: see [StaffStore.Inspect]. An
// invisible user is an Inspected too, and has a zero Since and Active.
type Inspected struct {
	presence.Member
	Leases []Lease // what holds the user online, in the order of their holders
}

// A Lease holds a user online in a topic.
type Lease struct {
	Holder presence.Holder
	Left   time.Duration // until the lease expires; zero or less: expired, and not swept yet
}
