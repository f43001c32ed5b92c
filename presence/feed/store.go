package feed

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Store keeps feeds, outbox and mutes. Its rules are numbered in the package's doc. All methods may be
// called concurrently, from any number of processes. One Store serves all tenants: names and users are those
// inside, and equal ones of two tenants never meet (rule T3). Messages, items and digests have local names
// and a field for the tenant. After an error nothing has changed, unless the method says otherwise or the
// context ended. Methods with a [Name] return [ErrInvalidName] for an invalid one. The kit is feedtest.Run.
type Store interface {
	// Send puts messages into the outbox, in one transaction. A message with more than
	// [MaxRecipients] recipients becomes several rows, and has each user in one of them. The
	// messages may be of several tenants. It returns [ErrInvalidMessage]. Cost: one statement for 1,000 recipients.
	Send(ctx context.Context, ms ...Message) error

	// Relay moves one batch of messages that are due from the outbox to feeds: at most 100
	// rows and about 1,000 items, rows of few recipients before those with more than 50, and
	// of each sort the older ones first. Rows of other programs count as the oldest, in the
	// order of their ids. Tenants take turns: each has a batch of its own, and a call makes
	// more of them while they are small. So a tenant with many messages holds up another one
	// by a batch. It returns at once if another relay is at work or nothing is due.
	// A row that cannot be moved waits, for 1 s to 1 h, longer each time, and after ten times
	// for good. Fields that a message should not have are ignored.
	//
	// A message makes no item where it is the user's own, muted, of an ID that the feed had,
	// or where the inbox is full: asked in this order. One that is dropped as the user's own
	// or muted leaves no trace, so that its ID may come again. A message joins the newest
	// unread item of its Group and About. Rooms have no groups, mutes and mail.
	Relay(ctx context.Context, o RelayOptions) (Relayed, error)

	// Heads returns the heads of feeds, in their order. For a feed that has not begun it returns the zero
	// Head. A feed begins with its first item. At most [MaxHeads].
	Heads(ctx context.Context, names ...Name) ([]Head, error)

	// Page returns the head of a feed and its listed items below a place, the newest first,
	// from one moment. before 0 is the top. more says whether there are older ones.
	Page(ctx context.Context, n Name, before int64, limit int) (h Head, items []Item, more bool, err error)

	// Changes returns for each feed what changed after a revision, from one moment each.
	// Gap is set where a page must be taken (rule F8): the revision is older than Floor,
	// newer than the feed, or of a feed born at another time, or more than [MaxBehind] items
	// changed. A reader of a feed that had not begun has revision 0 and no Born: that alone
	// is no gap. It is one query for all feeds, at most [MaxHeads].
	Changes(ctx context.Context, since ...Since) ([]Change, error)

	// Mark changes items of an inbox, and returns its new head (rule F7). There is a new
	// revision if the state of an item or a counter changed. Pos names items of any state,
	// About and UpTo only listed ones. Seen never moves back, nor above the newest item. A
	// feed that has not begun stays so. Of a room it returns [ErrInvalidName].
	//
	// The items that Seen passes, of any state, get their SeenAt. That is no change of the items:
	// their revisions stay. Read sets ReadAt where it is zero, Unread clears it, and Archived
	// leaves it.
	Mark(ctx context.Context, n Name, m Mark) (Head, error)

	// Edit replaces text, URL, data, type and V of an item of a room; m's other fields are
	// not used. Remove makes it Removed, and is a no-op if it is. They return the new head;
	// or [ErrNoItem], for Edit also of a removed item; [ErrInvalidMessage]; and of an inbox
	// [ErrInvalidName].
	Edit(ctx context.Context, n Name, id string, m Message) (Head, error)
	Remove(ctx context.Context, n Name, id string) (Head, error)

	// Mute keeps, replaces or lifts a mute. It returns [ErrInvalidMute] or
	// [ErrTooManyMutes]. Mutes returns those of a user that have not ended, by scope.
	Mute(ctx context.Context, user presence.UserID, m Mute) error
	Mutes(ctx context.Context, user presence.UserID) ([]Mute, error)

	// Due claims up to most digests whose time has come, for claim. Tenants take turns: the
	// first one of each tenant comes before anybody's second. Nobody else gets them
	// until the claim is over. A user with nothing to mail has no digest. A digest that is
	// claimed again, since nobody has settled it or it was not sent, has the same Key and
	// only items that the first one had, without those that were read, or joined, meanwhile.
	// If that leaves none, it is another digest, of the newer items.
	Due(ctx context.Context, most int, claim time.Duration) ([]Digest, error)
	// Settle ends a claimed digest. Sent: its items, and those counted in More, are in no further digest. An
	// item of the digest stays mailed if a message joins it. One counted in More that a message joins before
	// Settle may be in the next digest, which has it in Items. If the user has got other items meanwhile, a
	// digest is due after later. Not sent: the digest is due again after later, with the same Key. An empty
	// d.Key means that nobody got it, so the next digest may have newer items. Settle is a no-op if the
	// digest was claimed again, or is settled.
	Settle(ctx context.Context, d Digest, sent bool, later time.Duration) error

	// Trim removes up to o.Rows rows that are too old or too many (rule F12): of the latter
	// those with the lowest places. It forgets the ID of a message after o.Keep, but not
	// while the item is kept that has this ID. A feed that lost items has a new revision, and
	// that is its Floor.
	Trim(ctx context.Context, o TrimOptions) (removed int, err error)
	// Recount compares the counters of some feeds with their rows, others each time, and
	// mends them (rule F3).
	Recount(ctx context.Context, most int) (wrong int, err error)
	// Waiting returns the state of the outbox of all tenants.
	Waiting(ctx context.Context) (Outbox, error)
}

// A DataVersioner is a [Store] that knows of changes without a query. DataVersion returns another number than
// before if the data has changed since, whoever has changed it. It is never 0. A Keeper does not compare feeds
// with a store of which nothing has changed.
type DataVersioner interface{ DataVersion() int64 }

// MaxHeads is how many feeds one call of Heads or Changes may name.
const MaxHeads = 1_000

// MaxBehind is how many changed items Changes returns of one feed.
const MaxBehind = 200

// RelayOptions say how a relay treats messages.
type RelayOptions struct {
	MailAfter time.Duration // a digest is due this long after the first unread item for mail
	Most      int           // a message to an inbox with that many unread items is dropped, and counted as full
	Poll      bool          // nobody knows of a new message: do nothing if nothing has changed since the latest poll
}

// Relayed is the result of one call of Relay.
type Relayed struct {
	Moved   int            // items made or changed
	Changed []Hint         // feeds with a new revision
	Failed  map[string]int // rows that could not be moved, by reason: "json", "message", "database"
	Bad     []BadRow       // of the rows in Failed, those tried for the first or the last time: [MaxBadRows] at most
	Dropped map[string]int // messages that made no item, by reason: "self", "muted", "twice", "full"
	More    bool           // more rows are due: call again
	Busy    bool           // another relay is at work, and nothing was done
}

// MaxBadRows is how many rows a Relayed names.
const MaxBadRows = 20

// A BadRow is a row of the outbox that could not be moved.
type BadRow struct {
	Tenant, ID string
	GivenUp    bool // it is not tried again
	Why        error
}

// A Hint is a feed and its latest revision.
type Hint struct {
	Name Name
	Rev  int64
}

// A Since is a feed, and a revision that a reader has.
type Since struct {
	Name Name
	Rev  int64
	Born time.Time // Head.Born of that revision: if it is another one, there is a Gap
}

// A Change is a feed's head, and the items that changed after a revision, as they are now, in
// the order of their places, the newest first.
type Change struct {
	Head  Head
	Items []Item
	Gap   bool // the reader needs a page; Items is empty
}

// TrimOptions say what Trim removes.
type TrimOptions struct {
	Most     int           // items a feed
	Keep     time.Duration // of items, and of message IDs
	Archived time.Duration // of archived and removed items
	Rows     int           // at most so many rows
}

// Outbox is the state of the outbox.
type Outbox struct {
	Waiting int           // rows that are due or will be
	Failed  int           // rows that were given up; their column error says why
	Oldest  time.Duration // for how long the oldest due row has been due; 0: there is none
}
