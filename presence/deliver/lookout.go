package deliver

import "time"

// A lookout notes when a leader looked at its topics. What happened in a time without a look may be lost: if the
// store then goes back to what the consumer was told, or to an empty topic, its log shows nothing of it.
//
// Example: Redis writes its file at 12:00:00, and the connection of node A, which leads, hangs from 12:00:01 on.
// Alice comes at 12:00:02, and leaves. At 12:00:04 Redis starts again with its file. Node A then finds the
// version that it knows. It has heard of the loss, so it makes a gap.
type lookout struct {
	looked   time.Time // the latest look
	from, to time.Time // the latest time without one, if it was longer than blindFor
}

const (
	blindFor   = 2*claimEvery + claimEvery/2 // a longer time without a look may hide events
	noticedFor = 10 * time.Second            // within this time after a look, a node has noticed a loss of before it
)

// look notes a look at the topics.
func (o *lookout) look() {
	now := time.Now()
	if now.Sub(o.looked) > blindFor {
		o.from, o.to = o.looked, now
	}
	o.looked = now
}

// missed reports whether events may be missing because the store lost data, which this node noticed at a moment. It
// reports that once.
func (o *lookout) missed(lost time.Time) bool {
	if o.to.IsZero() || !lost.After(o.from) || lost.Sub(o.to) > noticedFor {
		return false
	}
	o.to = time.Time{}
	return true
}
