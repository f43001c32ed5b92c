package presence

// A RosterQuery asks a [Store] for a page of a topic's roster.
type RosterQuery struct {
	After string // [RosterPage].Next of the page before; empty: the first page
	Limit int    // users on the page; at least 1, at most 1,000
}

// maxRosterQuery is the most users on one page of a store's roster.
const maxRosterQuery = 1_000

// A RosterPage is a page of a topic's roster, in the store's own order.
type RosterPage struct {
	ID      DiffID   // the topic's version at the moment of the page
	Total   int      // visible users online at that version
	Members []Member // at most RosterQuery.Limit; may be none although there is a next page
	Next    string   // RosterQuery.After of the next page; empty: this is the last
}
