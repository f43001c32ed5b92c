package backend

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// OpKind says what an [Op] does.
type OpKind uint8

// The kinds of operations. In brackets, the fields of Op that each needs.
const (
	// OpJoin makes or renews the lease of a node that has pages of the user open, takes the user's profile if it is new, and
	// takes the place of earlier page views (rule 6). [User, Holder, For, Ago, Idle, Pages]
	OpJoin OpKind = iota + 1
	// OpSeen is a page view: it takes the profile, puts the user into the current set, and makes or renews the
	// web lease, unless a connection has joined since. For is how long the view holds the user from now on.
	// [User, For, Ago]
	OpSeen
	// OpGuest counts a guest in the current set. For is the age period.
	// [Guest, For]
	OpGuest
	// OpHeartbeat lengthens a lease that is there, and changes nothing else. For one that is gone the
	// Result names it under Unknown, and nothing happens. [User.ID, Holder, For]
	OpHeartbeat
	// OpRelease ends a connection's lease and holds the user for the grace in
	// its place (rules 5 and 6). For is the grace; with 0 nobody is held, as by an
	// OpDrop that is a proof of life. The page closed, or was last alive, Ago. [User.ID, Holder, For, Ago]
	OpRelease
	// OpDrop ends a lease at once. [User.ID, Holder]
	OpDrop
	// OpSignOut says that the user signed out. It ends at once what held the user before, whoever holds it: see
	// rule 19. It removes the user from the current and old sets, unless the user has come back since. The user
	// stays in the sets if the topic remembers names and Keep.ForgetSignedOut is off, and if the user is
	// invisible (rule 2). User.Status tells the latter, because the topic may have forgotten it.
	// [User.ID, User.Status, Ago]
	OpSignOut
	// OpUpdate stores a new profile for a user who is present, and is a no-op for any other. If the
	// [presence.Profile] of User is empty, only the status changes. If the user turned invisible Ago, the leave has
	// that moment (rule 2). [User, Ago]
	OpUpdate
	// OpKeep is an OpJoin without a profile, for a user who is there: it renews the lease, or makes it if another
	// connection has an unexpired one (rule 5). Otherwise the Result names it under Unknown, and nothing happens.
	// [User.ID, Holder, For, Ago, Idle, Pages]
	OpKeep
	// OpForgetGuest takes a guest out of the current and the old set, because the
	// guest signed in. It changes no number for a guest who is not in them. A later OpGuest
	// counts the same guest again. For is the age period. [Guest, For]
	OpForgetGuest
	// OpBot counts a crawler in the current set of bots (rule 18). For is the age period.
	// [Guest, Bot, For]
	OpBot
	// OpPeak gives the store a record that a node remembers. The better one stays (rule
	// 17). [Peak]
	OpPeak
	// OpResetPeak starts the topic's record anew (rule 17). []
	OpResetPeak
	// OpSignOff is the sign-out of one browser or device, whose leases have ended (rule 19). If a connection
	// still holds the user, it ends the web lease of a page view of before. Otherwise it is an OpSignOut.
	// [User.ID, User.Status, Ago]
	OpSignOff
)

// ExactGuests is the number of guests up to which every store counts those of a topic exactly (rule 11). The
// bound is a compromise: in Redis, 512 guests take 70 KB a topic instead of 2 KB, and removing a guest who
// signs in costs the server 0.8 ms.
const ExactGuests = 512

// An Op is one thing that happened in a topic. Times in it are durations from
// now, and "now" is the store's (rule 4). A holder's heartbeats and keeps have the For of its
// join, or less if its pages last proved some time ago that they are alive: a store may take the time of
// that proof from the For (rule 7).
type Op struct {
	Kind   OpKind
	User   presence.User
	Holder presence.Holder
	For    time.Duration
	Ago    time.Duration // how long ago it happened: its moment, by which it is earlier or later than other operations
	Idle   bool          // nobody is at any of the node's pages of the user
	Pages  int           // how many these are; 0: unknown
	Guest  string
	Bot    string // a crawler's name, such as "Googlebot"
	Peak   Peak
}

// A Batch is what happened in one topic, in order. A batch of up to a hundred ops is applied as one atomic step,
// and gives at most one diff: what cancels out inside it is not seen. A store may cut a larger one into several such
// steps.
type Batch struct {
	Topic presence.Topic
	Ops   []Op
	Keep  presence.Keep // what the store keeps of the topic beyond who is online
}

// A Result is what became of one batch.
type Result struct {
	Unknown []int // indexes of the heartbeats and keeps whose lease is gone
	// Err is nil if the batch was applied; otherwise it may or may not have been.
	// An error that is ErrRefused is of this topic alone: the store answered, and
	// does not take the batch. Any other says that the store is out.
	Err error
}

// SweepOptions say which leases [Store.Sweep] removes.
type SweepOptions struct {
	// Limit is about the most expired leases that are removed. With 0 nothing is removed: the sweep only finds out
	// whether a server has started again.
	Limit int

	// Doubt is how long the store is in doubt after a restart: the time in which every node writes again what
	// it holds. 0: the store's own guess.
	Doubt time.Duration

	// Nodes also ends the leases that hang on processes whose own lease has lapsed (rule 23). It
	// looks at every lease of the fleet for each such process, in bounded steps. Limit does not
	// count them.
	Nodes bool

	// Soonest is the least time from an operation to the end of a lease that it makes or shortens, as long as
	// no node has trouble. A store may look again after this time at a topic in which no lease expires sooner.
	// 0: unknown.
	Soonest time.Duration
}

// Swept is what one call of [Store.Sweep] did.
type Swept struct {
	Leases int  // expired leases that this call removed
	Leaves int  // leaves that this call announced
	More   bool // the limit was reached: call again
	Doubt  bool // a server has started again since the latest sweep, perhaps with old data: write again what is held here

	// Gone has the processes that lapsed, and of which this call has ended what hung on them (rule 23). Those that write no more
	// are not among them.
	Gone []string

	// Next is how long it takes until a sweep may find something to do, given [SweepOptions.Soonest].
	// 0: unknown.
	Next time.Duration
}
