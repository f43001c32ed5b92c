package backend

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// A RosterQuery asks a [Store] for a page of a topic's roster.
type RosterQuery struct {
	After string // [RosterPage].Next of the page before; empty: the first page
	Limit int    // users on the page; at least 1, at most 1,000
}

// A RosterPage is a page of a topic's roster, in the store's own order.
type RosterPage struct {
	ID      presence.DiffID   // the topic's version at the moment of the page
	Total   int               // visible users online at that version
	Members []presence.Member // at most RosterQuery.Limit; may be none although there is a next page
	Next    string            // RosterQuery.After of the next page; empty: this is the last
}

// A PageStore reads a part of a large roster. Without it a node keeps every topic whole, in
// about 300 bytes a user.
type PageStore interface {
	// Roster returns a page of a topic's roster, in an order of the store's choosing. A page names no user
	// twice. Reading all pages returns each user who is online all the time at least once, and exactly once
	// if nobody comes or goes meanwhile. Roster returns ErrInvalidPage if q.After is not a RosterPage.Next.
	// The text of Next names no tenant. It costs one round trip, and the time of one page, however many users
	// there are.
	Roster(ctx context.Context, topic presence.Topic, q RosterQuery) (RosterPage, error)

	// Members returns the entry of each user in a topic's roster, in the order of the users. It
	// is zero for a user who is not visible there. It costs one round trip.
	Members(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Member, error)
}
