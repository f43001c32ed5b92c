package feed

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An Item is one entry of a feed. Its names are local to the tenant of the feed.
type Item struct {
	Pos, Rev int64  // its place, and the revision of its latest change
	ID       string // of its first message: it stays while Pos moves
	Type     string
	V        int
	At       time.Time // when its latest message was relayed, by the database's clock

	Actors []Actor // who did it, the latest first, each once, at most [MaxActors]
	Others int     // how many more did it
	Count  int     // how many messages are merged in it

	About, Group string
	Text, URL    string // of the latest message
	Data         json.RawMessage
	State        State
	Mail         Mail

	// SeenAt is when the mark Seen of the inbox passed the item. ReadAt is when the item was first marked as
	// read since it was last unread. Both are by the database's clock. They are zero in rooms, if that has
	// not happened, and if it happened before the Store kept these times. A message that joins the item
	// clears both, because the item moves above the mark. An item that was read by its link, while nobody
	// looked at the list, has a ReadAt and no SeenAt.
	SeenAt, ReadAt time.Time
}

// An Actor is a user who did something.
type Actor struct {
	ID   presence.UserID // empty: the user was erased
	Name string          // the user's name at that time; never empty
}

// MaxActors is how many different actors an item knows. Further ones are only counted, and
// may be counted twice.
const MaxActors = 50

// A State is the state of an item. The items of a room stay Read.
type State int

// The states.
const (
	Unread   State = 0
	Read     State = 1
	Archived State = 2 // off the list
	Removed  State = 3 // taken back by its sender; in rooms only
)

// String returns the state as events have it.
func (s State) String() string {
	switch s {
	case Unread:
		return "unread"
	case Read:
		return "read"
	case Archived:
		return "archived"
	case Removed:
		return "removed"
	}
	return fmt.Sprintf("state(%d)", int(s))
}

// Listed reports whether an item of that state is on the list.
func (s State) Listed() bool { return s == Unread || s == Read }

// Mail says whether an item may be part of a digest.
type Mail int

// The states of an item with regard to mail.
const (
	NoMail Mail = 0
	ToMail Mail = 1 // in the next digest, if it is still unread then
	Mailed Mail = 2 // was part of a digest that succeeded
)

// A Head is a feed as a whole.
type Head struct {
	Rev    int64     // the latest revision; 0: nothing was ever in the feed
	Pos    int64     // the place of the newest item
	Floor  int64     // rows were deleted at this revision: readers of older revisions get a page
	Born   time.Time // when the feed began. It distinguishes feeds of one name in different databases. Zero: it has not begun
	Unread int       // items that are unread
	Unseen int       // unread items that came since the user last looked
}

// withActors returns a text with actors in place of the first {actors}. A later one may be part of a thread's
// title.
func withActors(text, actors string) string { return strings.Replace(text, "{actors}", actors, 1) }

// EnglishActors returns the words for {actors}: "Alice", "Alice and Bob", or "Alice and 3 others". others is
// how many more actors there are than names.
func EnglishActors(names []string, others int) string {
	switch {
	case len(names) == 0 && others == 0:
		return "Somebody"
	case len(names) == 0:
		return fmt.Sprintf("%d people", others)
	case others == 0 && len(names) == 1:
		return names[0]
	case others == 0 && len(names) == 2:
		return names[0] + " and " + names[1]
	}
	if others += len(names) - 1; others == 1 {
		return names[0] + " and 1 other"
	}
	return fmt.Sprintf("%s and %d others", names[0], others)
}
