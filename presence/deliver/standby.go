package deliver

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A consumer is one call of [Consumers.Run]. On each node it stands by until it holds the consumer's record in
// the store. Then it leads: it reads the topics, and calls fn.
//
//	node A   leads ───── dies at 12:00:00
//	node B   stands by, reads the record once a second ──┬── leads from 12:00:06 on
//	                                                     └ A's time in the store is over
//
// A standby node keeps a copy of the record. So the record can be rebuilt after the store lost its data, even
// if the leader died at the same time:
//
//	the store is wiped     the leader finds out at its next commit, within 1 s, and makes
//	                       the record again from its memory, if its time was not over
//	the store went back    the same, also if the old record names another leader: it has fewer
//	                       steps than the memory of the node that led last
//	the leader died too    a node with a copy makes the record again after copyWait; one whose
//	                       copy may lack the latest steps waits longer: see patience
//	a node is new          it takes over after newWait, since it cannot tell an old record
//	the store was out      a node that did not lead takes over after backWait, for the same reason
//	a copy is new          the same: it may be of an old file, with which the store began before it was wiped.
//	                       It is not if a node has led since the look before
//	a leader is back late  the same: another node may have led since its time was over, and that record be lost
//	no node has a copy     the consumer is new: a node prepares a record at once, and leads
//	                       after newWait, and after an outage or a loss backWait later
//	a node with a copy     says so in the prepared record: a node without one waits for longer
//	  finds that           than any node with a copy
//
// A leader that lost the record to another node uses its memory as the copy, until it has read what that node
// wrote.
type consumer struct {
	node   *Node
	name   string
	topics []presence.Topic // the named topics
	allOf  []presence.Topic // the kinds: values of AllOf
	opts   Options
	fn     func(context.Context, Event) error
	holder string // unique
	stats  *counters

	read recordRead        // the record as the store has it
	copy map[string]string // the latest whole record; nil: none
	led  bool              // copy is this node's memory as the leader
	had  time.Time         // when this node first had a copy, or had one again after others may have led, or after an outage while it was young

	// young says that the copy may be of an old file: no node that knows a newer record has had its time to write
	// that. It ends once a node has led with the record in the store, or this node may: see mayBeBehind.
	//
	// Example: Redis hangs until 12:00:05, and begins with an old file. Node A knows a newer record, and waits for seven
	// seconds. Node B begins, and reads the old one. At 12:00:11 Redis is out for a second, so A waits for seven more.
	// Then Redis loses the record. B must not make the old one again before A makes the newer one.
	young bool
	first bool // had is when this node had its first copy

	ended   endedSessions // sessions whose leave this node told
	lookout lookout       // at the topics: of this node while it led, and of others

	looked   time.Time // when this node last looked for the record while it stood by
	part     partSeen
	current  time.Time   // when copy, or the leader's memory, was last known to be the latest
	prepared bool        // there was a record, or prepare made one
	lost     time.Time   // when the record was last found missing
	taps     []*tapped   // one for each topic
	woken    wait.Wakeup // diffs came, or events are done

	erasing struct {
		mu  sync.Mutex // taken with no other mutex held
		all []erasedAt
	}
}

// A recordRead says how far this node has read the record.
type recordRead struct {
	version backend.ConsumerVersion
	entries map[string]string
}

// ledSince reports whether a node has led with the record since a moment. Then no node knows a newer one. The number
// of a step is its time at that node. A clock of another node may be a second behind this one's. If it is further
// behind, ledSince returns false.
func (r recordRead) ledSince(moment time.Time) bool {
	return time.UnixMicro(int64(stepsOf(r.entries))).After(moment.Add(-claimEvery))
}

// A partSeen is what the latest look found of a record that is not whole.
type partSeen struct {
	step   uint64 // the number of its latest step; 0: there was none
	steady bool   // the look before found the same step
}

// lost notes the step that a look finds. It returns true if what the look before found is gone.
func (p *partSeen) lost(step uint64) bool {
	was := p.step
	p.step, p.steady = step, was != 0 && step == was
	return was != 0 && !p.steady
}

// How long the record is held. Each commit of a leader holds the record for holdFor from then
// on. Without another commit the leader stops calling fn holdMargin before the end of that
// time, by its own clock, so that no two nodes call fn at once.
const (
	holdFor    = 6 * time.Second
	holdMargin = time.Second
	claimEvery = time.Second
	copyWait   = 3 * time.Second       // two seconds after the second look: see sayCopied
	oldWait    = copyWait + claimEvery // the wait of a node whose copy may be old
	newWait    = 4 * time.Second
)

// backWait is newWait after an outage of the store: a node with a copy may be the last to find the store back.
func (c *consumer) backWait() time.Duration { return oldWait + 2*c.node.Late }

// run stands by and leads until ctx ends.
func (c *consumer) run(ctx context.Context) {
	defer c.prepareAtEnd(ctx)
	for _, topic := range c.topics {
		t := &tapped{topic: topic, wake: c.woken.Wake}
		c.taps = append(c.taps, t)
		defer t.unwatch()
	}
	for c.standBy(ctx) {
		c.stats.leads.Store(true)
		c.lead(ctx)
		c.stats.leads.Store(false)
		c.stats.waits(0, time.Time{})
		c.stats.left.Store(0)
		c.read = recordRead{}
	}
}

// standBy waits until this node holds the record, and has read it. It returns false once
// ctx ends.
func (c *consumer) standBy(ctx context.Context) bool {
	var missing time.Time // since when there is no whole record; zero: there is one
	for ctx.Err() == nil {
		c.forgetErased()
		if c.copy == nil || c.outdated() {
			missing = c.lookForRecord(ctx, missing)
		}
		if c.copy != nil && !c.outdated() || !missing.IsZero() && time.Since(missing) >= c.patience(missing) {
			var state backend.ConsumerState
			if state, missing = c.tryToHold(ctx, missing); state == backend.ConsumerHeld {
				return true
			}
		}
		c.watch(ctx)
		wait.For(ctx, claimEvery)
	}
	return false
}

// lookForRecord reads the record for a node whose copy is missing or old, and prepares a record if there is
// none. It returns since when there is no whole record.
func (c *consumer) lookForRecord(ctx context.Context, missing time.Time) time.Time {
	missing, err := c.readWaiting(ctx, missing)
	if err != nil || c.copy != nil && !c.outdated() {
		return time.Time{}
	}
	if missing.IsZero() {
		missing = time.Now()
	}
	if c.copy == nil {
		c.prepare(ctx)
	}
	return missing
}

// tryToHold claims the record, and reads it if that succeeds. If the record lost steps, or is only prepared,
// the node that led last goes first, as if the record were missing. missing is since when there is no record
// with all steps. tryToHold returns its new value.
func (c *consumer) tryToHold(ctx context.Context, missing time.Time) (backend.ConsumerState, time.Time) {
	missing, err := c.readWaiting(ctx, missing)
	if err != nil {
		return backend.ConsumerMissing, time.Time{}
	}
	_, begun := c.read.entries[begunKey]
	switch {
	case begun && !c.lostSteps():
		missing = time.Time{}
	case missing.IsZero():
		missing = time.Now()
		c.lost = missing
	}
	late := !missing.IsZero() && time.Since(missing) >= c.patience(missing) && (c.part.steady || c.copy == nil)
	if !c.led && !late && (!missing.IsZero() || c.mayBeBehind()) {
		return backend.ConsumerMissing, missing
	}
	state, err := c.claim(ctx, late)
	switch {
	case err != nil, state == backend.ConsumerTaken:
		return state, time.Time{}
	case state == backend.ConsumerMissing:
		if missing.IsZero() {
			missing = time.Now()
			c.lost = missing
		}
	case c.readOn(ctx) != nil:
		state = backend.ConsumerTaken // held by this node: the next try continues to read
	}
	return state, missing
}

// readWaiting is readOn for a node that may wait because there is no whole record since a moment. It returns that
// moment, moved on by the time in which the store did not answer: no other node could make the record again then.
// Such a node also writes, though nothing: a store may answer reads alone. The moment is now if the store has lost the
// record once more since the latest look: another node may have led in between. See sayCopied.
//
// Example: Redis loses the record at 12:00:00.0, and hangs from 12:00:00.5 to 12:00:05. The node that led makes the
// record again at 12:00:05. A node that stands by must not take these five seconds for its patience.
func (c *consumer) readWaiting(ctx context.Context, missing time.Time) (time.Time, error) {
	asked := time.Now()
	err := c.readOn(ctx)
	if err == nil && !missing.IsZero() {
		_, err = c.try(ctx, backend.ConsumerStep{Holder: c.holder})
	}
	if err == nil && c.part.lost(stepsOf(c.read.entries)) && !missing.IsZero() {
		missing = time.Now()
		c.lost = missing
	} else if err == nil {
		c.sayCopied(ctx, missing)
	}
	out := err != nil || time.Since(asked) > callTimeout // a store that hung may answer in the end
	if out && c.young {
		c.had = time.Now().Add(c.backWait() - newWait) // a node with a newer copy needs its time anew
	}
	if waited := time.Since(c.looked); !missing.IsZero() && waited > 2*claimEvery {
		if missing = missing.Add(waited - claimEvery); missing.After(time.Now()) { // it is now already: the record was lost once more
			missing = time.Now()
		}
	}
	c.looked = time.Now()
	return missing, err
}

// watch begins the watches that have not begun.
func (c *consumer) watch(ctx context.Context) {
	for _, t := range c.taps {
		t.watch(ctx, c.node.Store)
	}
}

// mayBeBehind reports whether this node may know only an old record, of a store that began with an old file. A
// node that knows a newer record may have had no time yet to write it.
func (c *consumer) mayBeBehind() bool {
	return time.Since(c.had) < newWait || c.node.SoundFor() < c.backWait()
}

// outdated reports whether this node was cut off for so long that others have led since. Those go first.
func (c *consumer) outdated() bool { return time.Since(c.current) > 2*holdFor }

// patience returns how long a record must be missing before this node rebuilds it. The node that led goes
// before a node whose copy may lack the latest events, even if it is the last to find the store back.
func (c *consumer) patience(missing time.Time) time.Duration {
	copied, behind := c.read.entries[newKey] == newCopied, c.backWait()
	if copied { // that node may wait for backWait, and may begin later. Its looks add a second to both
		behind += c.node.Late + 2*claimEvery
	}
	switch {
	case c.copy == nil && c.node.SoundFor() < behind: // after each outage or loss, nodes with a copy wait again
		return math.MaxInt64
	case c.copy == nil && copied:
		return behind
	case c.copy == nil:
		return newWait
	case !c.led && c.young:
		return c.backWait()
	case !c.led && missing.Sub(c.current) > 2*claimEvery: // this node was cut off, or the store was unreachable
		return oldWait + c.node.Late
	case c.outdated() && c.lostSteps(): // after the nodes of the next case, and before a node that begins now
		return 3 * claimEvery
	case c.outdated():
		return oldWait
	case c.lostSteps(): // no record is made again, and a node that begins now would lead with the old one after newWait
		return 2 * claimEvery
	}
	return copyWait
}

// claim claims the record. The answer may say when another node led, which looked at the topics then.
func (c *consumer) claim(ctx context.Context, create bool) (backend.ConsumerState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	asked := time.Now()
	claimed, err := c.node.Store.ClaimConsumer(ctx, c.name, backend.ConsumerClaim{Holder: c.holder, For: holdFor, Create: create})
	_, begun := c.read.entries[begunKey] // nobody led with another record, if this node knows a whole one: see sayCopied
	if err == nil && (claimed.State == backend.ConsumerTaken || claimed.Idle > 0 && (begun || c.copy == nil)) {
		c.lookout.looked = later(c.lookout.looked, asked.Add(-claimed.Idle-holdFor))
	}
	return claimed.State, err
}

// readOn brings the copy up to date. The copy stays as it was while another node rebuilds the record, or if
// the store lost its latest steps.
func (c *consumer) readOn(ctx context.Context) error {
	asked, known := time.Now(), stepsOf(c.read.entries)
	if err := c.fetch(ctx); err != nil {
		return err
	}
	if c.lostSteps() {
		c.young = c.young && c.first // the store began with an old file, and a copy from before is not of that
	} else if _, begun := c.read.entries[begunKey]; begun {
		again := c.copy == nil || asked.Sub(c.current) > holdFor
		if again {
			c.had, c.first = asked, c.copy == nil
		}
		led := known != 0 && stepsOf(c.read.entries) > known && c.read.ledSince(c.looked)
		c.young = !led && (again || c.young && !c.led && c.mayBeBehind())
		c.copy, c.led, c.current, c.prepared = c.read.entries, false, asked, true
		for _, t := range c.taps {
			t.told(decodePosition(c.copy[positionKey(t.topic)]).at)
		}
	}
	return nil
}

// fetch reads what changed in the record.
func (c *consumer) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for more := true; more; {
		changes, err := c.node.Store.ReadConsumer(ctx, c.name, c.read.version)
		if err != nil {
			return err
		}
		if changes.Missing {
			c.read = recordRead{}
			return nil
		}
		if changes.Whole || c.read.entries == nil {
			c.read.entries = make(map[string]string)
		}
		maps.Copy(c.read.entries, changes.Set)
		for _, key := range changes.Delete {
			delete(c.read.entries, key)
		}
		c.read.version, more = changes.Version, changes.More
	}
	return nil
}

// lostSteps reports whether the store's record is whole, and older than the copy.
func (c *consumer) lostSteps() bool {
	_, begun := c.read.entries[begunKey]
	return begun && stepsOf(c.read.entries) < stepsOf(c.copy)
}

// record returns the record to lead with. It returns true if the record must be written again because the
// store has only a part of it, or nothing.
func (c *consumer) record() (entries map[string]string, again bool) {
	_, begun := c.read.entries[begunKey]
	switch {
	case c.copy == nil:
		return c.read.entries, !begun
	case c.lostSteps():
		return c.copy, true
	case begun:
		return c.read.entries, false
	}
	if _, isNew := c.read.entries[newKey]; isNew {
		return c.copy, true // the consumer is not new: the store lost its record
	}
	entries = maps.Clone(c.copy)
	maps.Copy(entries, c.read.entries)
	return entries, true
}
