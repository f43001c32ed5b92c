package backend

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Origin is the id before a topic's first diff: the version in which nobody is
// there. A store that forgot an empty topic starts again from it.
const Origin presence.DiffID = "0"

// A Diff is what one atomic step changed in a topic: never empty, and each
// user in it at most once. Applied to the roster at Prev it gives the roster
// at ID.
type Diff struct {
	ID, Prev presence.DiffID
	At       time.Time         // when the step was, by the store's clock
	Total    int               // visible users online after it
	Joins    []presence.Member // users who were not there before
	Updates  []presence.Member // users who were there, with their new profile
	Leaves   []Departure       // users who are gone
}

// A Departure is one user's leave.
type Departure struct {
	ID       presence.UserID
	LastSeen time.Time // the last proof of life, not the moment of the sweep; zero: not told (rule 5)
}

// A Snapshot is a topic's whole roster at one version.
type Snapshot struct {
	ID      presence.DiffID
	Members []presence.Member // newest first; equal times by ID
	At      time.Time         // when it was read, or begun to be, by the store's clock: who came before and is not in it has left. Zero: not told
}

// Counts are a topic's figures. Recent, Guests and Bots count the current and the old set together, so they cover
// one to two age periods. A topic has a record and bots only if its [presence.Kind] asks for them.
type Counts struct {
	Head   presence.DiffID // the version that Total is of
	Total  int             // visible users online
	Recent int             // users who viewed a page
	Guests int             // guests who viewed a page or have a stream; over ExactGuests an estimate within 3 %
	Peak   Peak            // the record; zero: none
	Bots   map[string]int  // how many crawlers of each name; nil: none

	// Unknown says that the store answers, and cannot tell the figures of this topic,
	// such as where one of its keys is of another kind. The other fields are zero.
	Unknown bool
}

// A Sighting is what a store knows of one user in one topic. All fields are zero for a user
// who is invisible and left no last seen.
type Sighting struct {
	Online   bool            // visible in the roster
	Status   presence.Status // of a user who is online
	Idle     bool            // of a user who is online: nobody is at any of the user's pages (rule 6)
	LastSeen time.Time       // of a user who left; zero: unknown, online or unseen

	// Holders are what holds a user who is online, in the order of their bytes: also a
	// holder whose lease has expired and is not swept yet. Nil for any other user.
	Holders []presence.Holder

	// Pages is how many pages hold a user who is online, as far as nodes have said, also those of
	// leases that have expired and are not swept yet.
	Pages int
}
