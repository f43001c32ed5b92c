package deliver

import (
	"context"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// A consumer without a record is new, or its record was lost and other nodes may have copies. A node without a
// copy cannot tell which. It prepares a record at once, with a join of each user who is online, and the
// versions of the topics. So the consumer gets all events from then on, even if that node ends a moment later.
// No node holds a prepared record, and fn is not called yet:
//
//	a node has a copy      it says so at its next look, and puts the copy in place after its patience
//	no node has a copy     after newWait a node goes on from the prepared record

// prepare makes the record of a consumer that seems to be new, unless there is one.
func (c *consumer) prepare(ctx context.Context) {
	if len(c.read.entries) > 0 {
		c.prepared = true
		return
	}
	began := time.Now()
	l := &leader{consumer: c, out: newOutbox(c.opts.Most, new(counters))}
	l.load()
	l.set(newKey, newAlone)
	for _, f := range l.follows {
		if !l.beginTopic(ctx, f) {
			return // the next look at the record tries again
		}
	}
	if !l.prepareKinds(ctx) {
		return
	}
	if state, err := c.claim(ctx, true); err != nil || state != backend.ConsumerHeld {
		return
	}
	if err := c.readOn(ctx); err != nil || len(c.read.entries) > 0 {
		l.changes = nil // another node was faster: only give the record up
	} else {
		c.lookout.looked = began
	}
	c.prepared = l.leaveRecord(ctx, l.changes)
}

// sayCopied writes into a prepared record that this node has a copy, if it has one.
//
// Example: Redis is unreachable from 12:00:00 to 12:00:05, and loses the record. Node A, which led, ends meanwhile.
// Node B has a copy. B waits for seven seconds, since a node that knows more may be the last to find Redis back. Node C
// begins at 12:00:06, and knows of no outage. So C would go on from the record that it prepared before B could write.
//
// If there is no record at the second look, sayCopied makes one that says only that. If this record is gone at a later
// look, the store has lost data once more.
//
// Example: Redis has lost the record, and no node leads. Nodes A and B have copies, and look for it once a second. A
// makes it again at 12:00:02.0, and tells of Alice. Redis is wiped at 12:00:02.4. At 12:00:02.5 B finds no record, as
// at 12:00:01.5. If B took that for its patience without a record, it would lead before A, and tell of Alice again.
//
// The same may happen between the first look and the second one. So copyWait is a second longer than the node that
// led needs to make the record again.
func (c *consumer) sayCopied(ctx context.Context, missing time.Time) {
	none := len(c.read.entries) == 0 && !missing.IsZero()
	if c.copy == nil || !none && c.read.entries[newKey] != newAlone {
		return
	}
	if state, err := c.claim(ctx, none); err != nil || state != backend.ConsumerHeld {
		return // the next look tries again, if the record is still prepared
	}
	set, part := map[string]string{newKey: newCopied}, c.part.step
	if none {
		part = uint64(time.Now().UnixMicro())
		set[stepsKey] = strconv.FormatUint(part, 10)
	}
	if state, err := c.try(ctx, backend.ConsumerStep{Holder: c.holder, Set: set}); err == nil && state == backend.ConsumerHeld {
		c.part.step = part
	}
}

// prepareAtEnd prepares the record if ctx ended before that. The next call of Run, on any node, continues from
// there.
func (c *consumer) prepareAtEnd(ctx context.Context) {
	if c.prepared {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpFor)
	defer cancel()
	c.lookForRecord(ctx, time.Time{})
}

// leaveRecord commits changes, and gives up the record with the last of them. It returns false if the store
// did not take all of them.
func (l *leader) leaveRecord(ctx context.Context, changes []recordChange) bool {
	for {
		step, rest := l.step(changes, l.next())
		if len(rest) == 0 {
			step.For = 0
		}
		state, err := l.try(ctx, step)
		if err != nil || state != backend.ConsumerHeld || len(rest) == 0 {
			return err == nil && state == backend.ConsumerHeld
		}
		changes = rest
	}
}
