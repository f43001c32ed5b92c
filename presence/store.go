package presence

import (
	"context"
	"time"
)

// A Store is the shared truth of who is online. All methods may be called
// concurrently, from any number of nodes. Each method says what it costs a
// store that is reached over a network, in round trips.
//
// # Rules
//
// Every store keeps these rules; the cases of presencetest cite their numbers.
//
//  1. A user is online in a topic exactly while at least one unexpired lease
//     (topic, user, holder) exists. There is no free-standing counter: a count
//     changes only in the same atomic step as its lease.
//  2. A join is announced when a user's leases go from none to one, a leave when
//     they go from one to none, each exactly once in the whole fleet, whoever
//     swept, however often. A user whose status is [Invisible] is not announced
//     and not counted, neither online nor as recent: going invisible is a leave
//     to others.
//  3. State change and diff are one atomic step. The diff is appended to the
//     topic's log in that step and carries the id of the one before it. A reader
//     whose last id is not Prev has a gap, reads the log, and if the log does not
//     hold it takes a fresh snapshot.
//  4. Time is the store's, never a node's clock.
//  5. A heartbeat only ever lengthens a lease and never makes one: for a lease
//     that is gone, or expired and not swept yet, it says so. A release ends its
//     lease and holds the user for the grace in its place, under [HolderGrace],
//     so that a beat still in flight revives nothing; a drop ends it at once.
//     Releasing or dropping what is not there does nothing.
//  6. When a user's last connection is released or lapses, a web lease whose
//     latest page view was recorded before that connection joined ends too (the
//     grace, if there is one, goes on): a closed tab is not online for minutes.
//     A connection that [OpFollow] names counts as if it had joined at that moment.
//  7. Last seen is the last proof of life (a join, a page view, a heartbeat, a
//     release, a sign-out), not the moment of the sweep. It is kept for users who
//     left, and trimmed by age and by number.
//  8. Ageing happens once a period in the whole fleet, however many crons run:
//     the store checks and stamps its own time. After two periods without a
//     call both sets are empty.
//  9. Work is bounded: a step touches one topic, and at most some hundred
//     leases. When the last user left, nothing remains of a topic within one
//     period, apart from last seen.
//  10. A store that lost everything starts again from [Origin] with empty
//     topics: heartbeats say Unknown, and the nodes join again.
//  11. Guests are counted, never stored, in bounded memory.
//  12. An operation that failed may be repeated, whether it took effect or not:
//     the second time changes nothing.
//  13. The status that a user chose outlives the user's leases and sign-outs. It
//     is kept in the step that tells it ([Bus.Publish] of a [NoticeStatus]), and only Trim forgets it.
//     The latest choice wins; one that is told late was made [Notice.Ago] before.
//  14. A fleet has one secret. The first one that a node offers is kept until the
//     store is wiped, and every node gets that one.
//
// Among several profiles of one user the newest that was applied wins, for all.
type Store interface {
	// A Store is also a Bus. Its Publish keeps the status of a NoticeStatus in the
	// same step (rule 13).
	Bus

	// Apply applies each batch as one atomic step, and returns a Result for
	// each, in their order. It costs one round trip for all of them.
	Apply(ctx context.Context, batches []Batch) []Result

	// Sweep removes expired leases, in whatever topics, and announces the leaves.
	// Topics need not be known to this node, and sweeps may run at the same time.
	Sweep(ctx context.Context, opts SweepOptions) (Swept, error)

	// Age turns the current sets and sketches into the old ones, in each topic
	// whose last turn is at least period ago, and returns how many topics it
	// turned.
	Age(ctx context.Context, period time.Duration) (turned int, err error)

	// Trim forgets who was last seen more than keep ago, and in each topic all
	// but the most latest. It forgets chosen statuses by the same two bounds. It
	// returns how many entries it forgot, of both kinds.
	Trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error)

	// Snapshot returns a topic's roster. An unknown topic is empty, at Origin.
	Snapshot(ctx context.Context, topic Topic) (Snapshot, error)

	// Log returns the diffs that came after one, in order; none if it is the
	// latest. It returns ErrGap if the log does not hold the one asked for, and
	// never for Origin as long as the log reaches back to it. With an empty after
	// it returns all that the log holds.
	Log(ctx context.Context, topic Topic, after DiffID) ([]Diff, error)

	// Counts returns the figures of each topic, in one round trip.
	Counts(ctx context.Context, topics ...Topic) ([]Counts, error)

	// Sightings returns what is known of each user in a topic, in one round trip.
	Sightings(ctx context.Context, topic Topic, users ...UserID) ([]Sighting, error)

	// Watch calls fn for each diff of a topic from now on, in order, one call at
	// a time. Diffs may be lost on the way (rule 3 tells), and some that were
	// made just before may still come. fn must not block and
	// must not call the store. Watch returns once diffs are delivered; stop ends
	// the watch, and no call of fn begins after it returned.
	Watch(ctx context.Context, topic Topic, fn func(Diff)) (stop func(), err error)

	// Statuses returns the status that each user chose last, in their order: ""
	// for a user of whom no choice is known, or only one that was trimmed (rule 13).
	// It costs one round trip.
	Statuses(ctx context.Context, users ...UserID) ([]Status, error)

	// Secret returns the fleet's secret: the one that the store has, or offer,
	// which it then keeps (rule 14). An offer has 16 to 64 bytes. It costs one
	// round trip.
	Secret(ctx context.Context, offer []byte) ([]byte, error)
}

// SweepOptions say which leases [Store.Sweep] removes.
type SweepOptions struct {
	Limit int // about the most expired leases that are removed. Required

	// RenewedWithin, if not zero, spares the expired leases that were last renewed
	// longer ago: after an outage, leases have expired that no node could renew.
	// At most about Limit expired leases are looked at, and Swept.More is false.
	//
	// Example: the store was out from 12:00:00 to 12:01:00, and it is 12:01:05. A
	// sweep with RenewedWithin 5 s removes a lease that was renewed at 12:01:01
	// and ended at 12:01:03. It spares one that was renewed at 11:59:50.
	RenewedWithin time.Duration
}

// An OutageReporter is a [Store] that knows of its own outages. A [Tracker] that starts
// asks it, and treats a store that was out before as one that has just come back. A
// Store need not be one: the Tracker then knows only of calls that it made itself.
type OutageReporter interface {
	// LastOut returns when a call last failed because the store was out, by this
	// node's clock; zero if none did. It costs no round trip.
	LastOut() time.Time
}
