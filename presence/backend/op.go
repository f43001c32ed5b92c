package backend

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// OpKind says what an [Op] does.
type OpKind uint8

// The kinds of operations. In brackets, the fields of Op that each needs.
const (
	// OpJoin says that a process has pages of the user open: it makes or renews the lease of its holder, and lists the user.
	// [User, Holder, Gen, Rev, For, Ago, Joined, Idle, Pages]
	OpJoin OpKind = iota + 1
	// OpSeen is a page view: it takes the profile, puts the user into the current set, and makes or renews the
	// web lease. For is how long the view holds the user from now on. [User, For, Ago]
	OpSeen
	// OpGuest counts a guest in the current set. For is the age period.
	// [Guest, For]
	OpGuest
	// OpHeartbeat moves the end of a connection's lease that is there, and changes nothing else. For one that is gone the
	// Result names it under Unknown, and nothing happens. [User.ID, Holder, For]
	OpHeartbeat
	// OpRelease says that a process has no page of the user open any more: it ends the lease of its holder, and holds the
	// user for the grace. For is what is left of the grace; 0: nobody is held. The last page closed, or was last alive, Ago.
	// [User.ID, Holder, Gen, Rev, For, Ago, Idle]
	OpRelease
	// OpSignOut says that the user signed out, on all devices. [User.ID, User.Status, User.Rev, Ago]
	OpSignOut
	// OpUpdate says what the user chose: the status, and the visibility of a device. If the user turned invisible, the leave
	// has the moment Ago. [User.ID, User.Status, User.Visibility, User.Rev, Ago]
	OpUpdate
	// OpKeep is an OpJoin without a profile. The Result names it under Unknown if the topic does not know the profile of the
	// user, or if the holder does not hold the user after the step: a greater Rev or a sign-out ended that. [User.ID, Holder, Gen, Rev, For, Ago, Joined, Idle, Pages]
	OpKeep
	// OpForgetGuest takes a guest out of the current and the old set, because the
	// guest signed in. It changes no number for a guest who is not in them. A later OpGuest
	// counts the same guest again. For is the age period. [Guest, For]
	OpForgetGuest
	// OpBot counts a crawler in the current set of bots (rule 8). For is the age period.
	// [Guest, Bot, For]
	OpBot
	// OpPeak gives the store a record that a node remembers. The better one stays (rule 9). A zero
	// Peak starts the record anew, with the users of this moment. [Peak]
	OpPeak
	// OpSignOff is the sign-out of one browser or device, whose connections have ended. Connections that are left go on.
	// [User.ID, User.Status, User.Rev, Ago]
	OpSignOff
)

// ExactGuests is the number of guests up to which every store counts those of a topic exactly (rule 8). The
// bound is a compromise: in Redis, 512 guests take 70 KB a topic instead of 2 KB, and removing a guest who
// signs in costs the server 0.8 ms.
const ExactGuests = 512

// An Op is what a node knows of a member of a topic, or of a guest, a bot or the record there. Times in it are durations from
// now, and "now" is the store's (rule 4). The order of operations does not matter (rule 3).
type Op struct {
	Kind   OpKind
	User   presence.User
	Holder presence.Holder
	Gen    int32         // of a holder: the generation of the process (rule 7)
	Rev    int64         // of a holder: greater for each later word of the generation
	For    time.Duration // until when it holds the user
	Ago    time.Duration // how long ago its moment was; of an OpJoin or OpKeep the last proof of life of the pages
	Joined time.Duration // how long ago the latest of the pages joined
	Idle   bool          // nobody is at any of the process's pages of the user
	Pages  int           // how many these are; 0: unknown
	Guest  string
	Bot    string // a crawler's name, such as "Googlebot"
	Peak   Peak
}

// A Batch is for one topic. A batch of up to a hundred ops is applied as one atomic step,
// and gives at most one diff: what cancels out inside it is not seen. A store may cut a larger one into several such
// steps.
type Batch struct {
	Topic presence.Topic
	Ops   []Op
	Keep  presence.Keep // what the store keeps of the topic beyond who is online
}

// A Result is what became of one batch.
type Result struct {
	Unknown []int // indexes of the heartbeats whose lease is gone, and of the keeps that hold nobody who is known
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

	// Nodes also ends the leases that hang on processes whose own lease has lapsed (rule 7). It
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

	// Gone has the processes that lapsed, and of which this call has ended what hung on them (rule 7). Those that write no more
	// are not among them.
	Gone []string

	// Next is how long it takes until a sweep may find something to do, given [SweepOptions.Soonest].
	// 0: unknown.
	Next time.Duration
}
