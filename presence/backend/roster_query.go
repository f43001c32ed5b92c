package backend

import "github.com/rollcall-go/rollcall/presence"

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
