package track

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A visitor may open and close any number of connections. While the store is out, that must not pile up. A node has one
// lease for all connections of a user in a topic, and the latest word about a lease counts: a join after a release takes
// its place. So at most two operations of each lease wait: the join, and the release behind it.

// end handles the end of a lease. It returns false if the store need not know of it: the lease was never made.
func (l queue) end(op operation) (queue, bool) {
	if op.endsAtOnce() {
		return l.withoutFresh(op.Holder)
	}
	return l, true
}

// withoutFresh removes the waiting join of a lease that the store does not have, with all that came since. It returns true if
// there is none.
func (l queue) withoutFresh(holder presence.Holder) (queue, bool) {
	i := slices.IndexFunc(l, func(op operation) bool { return op.Holder == holder && op.Kind == backend.OpJoin })
	if i < 0 || l[i].sent || !l[i].fresh {
		return l, true
	}
	return append(l[:i], slices.DeleteFunc(l[i:], func(op operation) bool { return op.Holder == holder })...), false
}

// giveUp removes the join of a connection whose client left while it was being opened, if the store does not have its
// lease.
func (p *pending) giveUp(user presence.UserID, holder presence.Holder) bool {
	list, there := p.of(user).withoutFresh(holder)
	p.set(opKey{user: user}, list)
	return !there
}

// dropVoid removes what must not be written any more: page views that hold no longer, because the store was out for as long,
// and what was asked for before a sign-out. The ends of connections of before become drops: nobody is held for the
// grace.
//
// Example: Alice has a page at node A, which cannot reach Redis. She signs out at node B. A minute later her
// page finds that its lease is gone, and closes. When A is back, it hears of the sign-out, and writes nothing
// that shows her.
func (p *pending) dropVoid(topic presence.Topic, records *userRecords, now time.Time) {
	for subject, list := range p.lists {
		kept := list[:0]
		for _, op := range list {
			switch {
			case op.Kind == backend.OpSeen:
				ended := later(records.viewsEndedAt(ownerIn(topic, op.User.ID)), records.endedAt(op.User.ID))
				if !op.at.Add(op.For).After(now) || !op.at.After(ended) {
					continue
				}
			case op.of != nil && !op.identified.After(records.visitorEndedAt(*op.of)):
				op.Kind, op.of = backend.OpDrop, nil
				there := true
				if kept, there = kept.withoutFresh(op.Holder); !there {
					continue
				}
			}
			kept = append(kept, op)
		}
		p.set(subject, kept)
	}
}
