package track

import (
	"log/slog"
	"slices"
	"time"
)

// An outage judges whether the store can be trusted to have every live lease. Each write, each
// call for the figures of topics, and each poll reports its result here; sweeps ask here.
//
// # One clock of trust
//
// Leases expire while the store is out, because nobody can renew them: those of visits after the TTL, and graces. After a loss the
// store has not what the nodes hold. So the time counts since the end of the latest outage of max(TTL/3, 1 s) or more, or since a loss
// of data was noticed: see trustedFor. After min(TTL, 7 s) every node has had the time to write again what it holds. A sweep waits
// for as long after any trouble, such as one call that failed: see soundFor. So a lease that it ends is really abandoned.
//
// The longest TTL of any kind of topic counts. A call hangs if it takes longer than max(TTL/3, 1 s), and here the shortest one
// counts.
//
// Example with a TTL of 45 s and a heartbeat of 15 s. Redis is unreachable from 12:00:00
// to 12:01:00, and all visits have expired. At 12:01:00 node A finds Redis back. Node B
// finds out by 12:01:01, because each node asks every 0.5 s; until then nobody sweeps.
// Both write what has changed, and renew all leases with their node's, by 12:01:07
// at the latest, after the longest timeouts. Until then nothing is swept. From 12:01:07
// on every expired lease is really abandoned.
type outage struct {
	cfg     *Config
	waiting func() int // returns how many operations wait for the store; for the log
	retry   func()     // makes the writer try again at once

	began time.Time // when this node began

	mu       outageMutex
	inOrder  chan struct{}    // closed, and replaced, when calls succeed again
	failing  failures         // by kind of call
	wentWell time.Time        // when a call last succeeded while no call of another kind was failing or about to fail
	readWell time.Time        // when a read or a poll last succeeded
	wrote    time.Time        // when the latest write began
	asked    [calls]time.Time // by kind of call: when the one under way began; zero: none is
	ended    time.Time        // when the latest outage ended that was longer than harmless; zero: there was none
	trouble  time.Time        // when an outage, or a loss of data, was last noticed; zero: never
	lost     time.Time        // when a loss of data was last noticed; zero: there was none
	sweepErr error            // of the latest sweep; nil: it succeeded
	process  processLease
}

// The kinds of calls that report. A server may answer reads and refuse writes. A node that has nothing to
// write notices that by its polls, which renew its own lease.
//
// Example: Redis holds up writes from 12:00:00 to 12:00:30, and all leases expire. Node A hears a beat of a page
// of another node at 12:00:17, and writes that alone. The renewal of its own lease tells it that the
// outage began at 12:00:01. So A sweeps nothing until node B has renewed what it holds.
const (
	writes = iota
	reads
	polls
	calls
)

// Waits after a call that failed: doubled from the first to the last, with jitter, so that
// the nodes of a fleet do not all come back at once.
const (
	backoffFirst = 50 * time.Millisecond
	backoffLast  = 2 * time.Second
	applyTimeout = 3 * time.Second
)

// returningFor is about how long it takes until all nodes have noticed that the store is back.
const returningFor = time.Second

// catchUpFor is how long all nodes together need after an outage to renew the leases that have a TTL, or to
// restore them. Each node does so when it notices that the store is back: see poller.
func catchUpFor(ttl time.Duration) time.Duration { return min(ttl, catchUpLongest) }

// catchUpLongest is the time in which a node notices that the store is back, even if an earlier call must
// time out first, and in which one more call renews the leases.
const catchUpLongest = returningFor + 2*applyTimeout

// restoreFor is how long all nodes together need after a loss of data to restore the leases that have a TTL.
// With a short TTL, this is more than catchUpFor: the nodes wait for what users chose, and each notices the
// loss at another moment. See choices.republish.
func restoreFor(ttl time.Duration) time.Duration {
	return max(catchUpFor(ttl), choicesWait+restoreWait)
}

// catchUp is catchUpFor for all topics, because a sweep removes leases with any TTL.
func (c *Config) catchUp() time.Duration { return catchUpFor(c.longestTTL()) }

// harmlessOutage is the longest outage in which no lease expires. Without an outage, some call succeeds more
// often: see housekeeper.polls.
func (c *Config) harmlessOutage() time.Duration { return max(c.shortestTTL()/3, 2*houseKeeping) }

func newOutage(cfg *Config, waiting func() int, retry func()) *outage {
	now := time.Now()
	return &outage{cfg: cfg, waiting: waiting, retry: retry, began: now, inOrder: make(chan struct{}), wentWell: now, process: processLease{trouble: now}}
}

// isOutLocked reports whether the latest write, read or renewal failed, or not all were in order for max(TTL/3, 1 s).
func (o *outage) isOutLocked() bool {
	return o.failing.any() || time.Since(o.wentWell) > o.cfg.harmlessOutage()
}

// wroteLately reports whether this node writes: then requests wait for the store, and an outage must be found soon.
func (o *outage) wroteLately() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.wrote) < topicIdle
}

// latestFailed reports whether the latest write or read failed.
func (o *outage) latestFailed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failing.any()
}

// readsGoWell reports whether reads succeed. While the store is in doubt, there is a poll every houseKeeping.
func (o *outage) readsGoWell() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.readWell) < 2*houseKeeping
}

// inDoubt reports whether the store may lack a lease that a node holds, or have lost it to time.
func (o *outage) inDoubt() bool { return o.trustedFor() < o.cfg.catchUp() }

// trustedFor returns how long every node could write what it holds: 0 while the store is out or hangs. A failure in which no lease
// can expire makes no difference.
func (o *outage) trustedFor() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hangsLocked() || o.isOutLocked() {
		return 0
	}
	return time.Since(later(o.ended, o.lost))
}

// soundFor returns how long the store has worked without trouble: 0 while it is out or hangs.
//
// Example: Redis has lost its data, and is read-only for a minute. Node A has only guests. The users of nodes
// B and C have not left just because they are not restored within seven seconds.
func (o *outage) soundFor() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hangsLocked() || o.isOutLocked() || o.sweepErr != nil {
		return 0
	}
	return time.Since(o.trouble)
}

// lastEnd returns when the latest outage ended; zero: there was none.
func (o *outage) lastEnd() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// nextReturn returns a channel that is closed when failing calls succeed again.
func (o *outage) nextReturn() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.inOrder
}

// lostData notes that the store lost data at a moment, as this node or another one noticed. Until the nodes have had time to restore
// it, the store counts as having trouble. lostData reports whether the loss is new to this node.
func (o *outage) lostData(at time.Time) (news bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	news = at.Sub(o.lost) > restoreWait
	o.lost, o.trouble = later(o.lost, at), later(o.trouble, at)
	return news
}

// distrust treats the store as having been out until now: this node starts, and cannot know what was before, or has begun a new
// generation, and nothing is settled until it has written what it holds.
func (o *outage) distrust() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trouble = time.Now()
}

// begin notes that a call of a kind begins. report ends it.
func (o *outage) begin(kind int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[kind] = time.Now()
	if kind == writes {
		o.wrote = o.asked[kind]
	}
}

// report takes the result of a call of a kind, which began at a moment. It logs when the store goes out and
// when it is back.
func (o *outage) report(kind int, began time.Time, err error) {
	o.mu.Lock()
	was, found := o.failing.any(), kind != writes && err == nil && o.failing[kind]
	now := time.Now()
	trouble := o.hangsLocked() || o.isOutLocked() // also if this process stood still
	long := o.hangsLocked() || now.Sub(o.wentWell) > o.cfg.harmlessOutage()
	o.failing[kind] = err != nil
	is := o.failing.any()
	if trouble || is {
		o.trouble = now
	}
	if err == nil && kind != writes {
		o.readWell = now
	}
	if err != nil && began.Before(o.wentWell) { // other calls have succeeded since
		o.wentWell = began
	}
	if !is {
		o.wentWell = now
		if long {
			o.ended = now
		}
	}
	o.asked[kind] = time.Time{}
	if was && !is {
		close(o.inOrder)
		o.inOrder = make(chan struct{})
	}
	o.mu.Unlock()
	if found { // earlier than the writer would, whose pauses grow with each failure
		o.retry()
	}
	switch {
	case is && !was:
		o.cfg.Logger.Warn("presence: the store is out; pages go on, writes wait until it is back", slog.Any("error", err), slog.Int("waiting", o.waiting()))
	case was && !is:
		o.cfg.Logger.Info("presence: the store is back")
	}
}

// givenUp notes that nothing waits for a call of a kind, so none will tell when the store is back. The next poll does.
//
// Example: Redis refuses writes from 12:00 to 12:20. Alice viewed a page at 12:00, and node A has nothing else to write.
// At 12:03 the view is too old to be written.
func (o *outage) givenUp(kind int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failing[kind] {
		o.failing[kind], o.failing[polls] = false, true
	}
}

// failures says of which kinds of calls the latest one failed.
type failures [calls]bool

func (f failures) any() bool { return f != failures{} }

// hangsLocked reports whether a call under way takes too long, even if others succeed. In a cluster they may be of
// another server.
func (o *outage) hangsLocked() bool {
	return slices.ContainsFunc(o.asked[:], func(at time.Time) bool { return !at.IsZero() && time.Since(at) > o.cfg.harmlessOutage() })
}
