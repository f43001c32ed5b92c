package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// waitingJoin returns the index of the waiting join of a holder that has not ended.
func (p *pending) waitingJoin(key opKey) (int, bool) {
	for i := range p.of(key.user) {
		switch op := &p.ops[i]; {
		case op.Holder != key.holder:
		case op.Kind == backend.OpJoin:
			return i, true
		case op.Kind == backend.OpRelease, op.Kind == backend.OpDrop, op.Kind == backend.OpSignOff:
			return 0, false
		}
	}
	return 0, false
}

// removeSince removes the operations of a holder from its join on.
func (p *pending) removeSince(join int, key opKey) {
	for i := range p.of(key.user) {
		if i < join {
			break
		}
		if keyOf(p.ops[i].Op) == key {
			p.remove(i)
		}
	}
}

// giveUp removes the join of a connection whose client left while it was being opened, if the join was not
// sent.
func (p *pending) giveUp(join backend.Op) bool {
	key := keyOf(join)
	i, waits := p.waitingJoin(key)
	if !waits || i < p.sent || !p.ops[i].fresh {
		return false
	}
	p.removeSince(i, key)
	return true
}

// signOut turns the ends of a user's connections into drops, if their pages asked for them before a moment.
// of selects the visitors. No lease is renewed for them, and nobody is held for the grace.
//
// Example: Alice has a page at node A, which cannot reach Redis. She signs out at node B. A minute later her
// page finds that its lease is gone, and closes. When A is back, it hears of the sign-out, and writes nothing
// that shows her.
func (p *pending) signOut(user presence.UserID, at time.Time, of func(presence.Visitor) bool) {
	var ends []operation
	for i := range p.of(user) {
		if op := p.ops[i]; op.lease != nil && !op.lease.asked.After(at) && of(op.lease.visitor) {
			ends = append(ends, op)
		}
	}
	for _, op := range ends {
		p.forget(user, func(o operation) bool { return o.Holder == op.Holder })
		op.Kind, op.lease = backend.OpDrop, nil
		p.append(keyOf(op.Op), op)
	}
}

// forgetViews removes a user's page views up to a moment.
func (p *pending) forgetViews(user presence.UserID, at time.Time) {
	p.forget(user, func(op operation) bool { return op.Kind == backend.OpSeen && !op.asked.After(at) })
}

// hasView reports whether a page view of a user up to a moment waits.
func hasView(p *pending, user presence.UserID, at time.Time) bool {
	for i := range p.of(user) {
		if op := &p.ops[i]; op.Kind == backend.OpSeen && !op.asked.After(at) {
			return true
		}
	}
	return false
}

// forgetOldViews removes the page views that hold no longer, because the store was out for as long.
func forgetOldViews(p *pending, now time.Time) {
	for i := range p.ops {
		if op := &p.ops[i]; op.Kind == backend.OpSeen && !op.until.After(now) {
			p.remove(i)
		}
	}
}
