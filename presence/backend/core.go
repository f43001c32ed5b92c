package backend

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Core is what every store must be able to do: it holds who is online. All methods may be
// called concurrently, from any number of nodes. Each method says what it costs a store
// that is reached over a network, in round trips. The rules that it keeps are at [Store], and
// [Features] are what a store may have beyond it.
type Core interface {
	// Bus has three of the twelve methods: Publish, Listen and Hear.
	Bus

	// Apply applies each batch as one atomic step, and returns a Result for each, in
	// their order. It costs one round trip for all of them. The batches do not change
	// afterwards, so a call that was given up may go on reading them.
	Apply(ctx context.Context, batches []Batch) []Result

	// Sweep removes expired leases, in whatever topics, and announces the leaves.
	// Topics need not be known to this node, and sweeps may run at the same time.
	//
	// A server that restarts, or a replica that takes over, may have old data: leases in it look
	// expired although nodes have renewed them since. So the first sweep after a restart puts the store in
	// doubt, and says so: see Swept.Doubt. Until that ends no sweep removes anything. A server that began
	// without data, and a store that cannot restart, are never in doubt.
	Sweep(ctx context.Context, opts SweepOptions) (Swept, error)

	// Age rotates the sets of page views and of guests of each topic that was last rotated at
	// least period ago: the current sets become the old ones. It returns the number of topics
	// that it rotated.
	Age(ctx context.Context, period time.Duration) (turned int, err error)

	// Trim forgets users last seen more than keep ago, and in each topic all but the
	// most latest ones. It forgets chosen statuses by the same two bounds. It returns
	// how many entries it forgot, of both kinds.
	Trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error)

	// Snapshot returns a topic's roster. An unknown topic is empty, at Origin.
	Snapshot(ctx context.Context, topic presence.Topic) (Snapshot, error)

	// Log returns the diffs after one, in order; none if it is the latest. It returns
	// ErrGap if the log does not hold that diff. Origin counts as held while the log
	// reaches back to the topic's first diff. With an empty after, Log returns all
	// diffs that the log holds.
	Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]Diff, error)

	// Counts returns the figures of each topic, in one round trip.
	Counts(ctx context.Context, topics ...presence.Topic) ([]Counts, error)

	// Sightings returns for each user whether the user is online in a topic, with the holders, or when the
	// user was last seen there. It costs one round trip.
	Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]Sighting, error)

	// Watch calls fn for each diff of a topic from now on, in order, one call at a
	// time. Diffs may be lost on the way, which readers notice by rule 3, and some that
	// were made just before the call may still come. fn must not block and must not
	// call the store. Watch returns once diffs are delivered; after stop has returned,
	// no call of fn begins.
	Watch(ctx context.Context, topic presence.Topic, fn func(Diff)) (stop func(), err error)
}

// SweepOptions say which leases [Core.Sweep] removes.
type SweepOptions struct {
	Limit int // about the most expired leases that are removed. Required

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

// An OutageReporter is a [Core] that knows of its own outages. A track.Tracker that starts
// asks it, and treats a store that was out before as one that has just come back. A
// store need not be one: the Tracker then knows only of calls that it made itself.
type OutageReporter interface {
	// LastOut returns when a call last failed because the store was out, by this
	// node's clock; zero if none did. It costs no round trip.
	LastOut() time.Time
}
