package presence

import (
	"strings"
	"time"
)

// Extras are what a store keeps of a topic because its [Kind] asks for it.
type Extras struct {
	Peak Peak           // zero: there is none
	Bots map[string]int // crawlers in the window of [Counts].Guests, by the bot's name; nil: none
}

// Limits of the bots that a store counts in one topic.
const (
	MaxBots    = 256 // crawlers; further ones are not counted
	MaxBotName = 32  // bytes of a bot's name, of printable ASCII without quotes and backslash
)

// ValidBotName reports whether s can be a bot's name: 1 to [MaxBotName] bytes of printable
// ASCII without quotes and backslash.
func ValidBotName(s string) bool {
	return s != "" && len(s) <= MaxBotName && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(`"'\`, r)
	})
}

// A Peak is the most users who were online in a topic at one time.
type Peak struct {
	Total int       // visible users online then; with guests, if the Kind says so
	At    time.Time // when
	Since time.Time // when the record was started anew; zero: it never was
}

// Better returns the one of two records of a topic that counts: the one that was started
// anew later; else the larger; else the earlier.
func (p Peak) Better(q Peak) Peak {
	switch {
	case !p.Since.Equal(q.Since):
		if p.Since.After(q.Since) {
			return p
		}
		return q
	case p.Total != q.Total:
		if p.Total > q.Total {
			return p
		}
		return q
	case q.At.IsZero() || !p.At.IsZero() && !p.At.After(q.At):
		return p
	}
	return q
}

// A RecentQuery asks [Store.Recent] and [Tracker.Recent] for a page of users.
type RecentQuery struct {
	// Within is how far back the page reaches: at most [MaxWithin]. Zero: to those who
	// viewed a page in the current or the old period, who are Counts.Recent.
	// More is taken as that, and less than zero as zero.
	Within time.Duration
	After  string // the Next of the page before; empty: the first page
	Limit  int    // users on the page, 1 to 1,000; another number is taken as the nearest
}

// MaxWithin is how long a store remembers recent users by name.
const MaxWithin = 24 * time.Hour

// A RecentPage is a page of recent users, the latest active first, equal ones by ID. It
// begins behind the last user of the page before, wherever that user is now. Users who are
// active while somebody reads the pages move to the front, so no user comes twice.
type RecentPage struct {
	// Total is the number of all users that the query is about. Without a Within it is
	// Counts.Recent, with those whose name was forgotten or is not kept.
	Total int
	Users []RecentUser // visible ones, whose name the store remembers
	// Next is where the next page begins, as an opaque text; empty after the last page. A
	// page may have fewer users than the limit although there is a next one.
	Next string
}

// A RecentUser is a user who is or was in a topic.
type RecentUser struct {
	User             // the newest profile; the Status is empty unless the user is online
	Active time.Time // the latest page view, join or leave; by the store's clock
	Online bool
}

// An Inspected is a user of a topic as [Store.Inspect] shows the user to staff: also an
// invisible one, whose Since and Active are zero.
type Inspected struct {
	Member
	Leases []Lease // what holds the user online, by their holders
}

// A Lease holds a user online in a topic.
type Lease struct {
	Holder Holder
	Left   time.Duration // until it ends; zero or less: it is expired and not swept yet
}
