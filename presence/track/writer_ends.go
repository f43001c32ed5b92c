package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A visitor may open and close any number of connections, each with its own holder. While the store is out,
// their joins and releases must not pile up. If a connection ends while its join still waits here, the join
// and the release become one operation, a hold: a lease that has already ended, and keeps the user for the
// grace. A user has at most one hold: that of a later connection replaces the earlier one, because it has the
// same effect (rules 5 and 6).
//
// If the join may have been applied, the store may have its lease, and a release must follow. These releases
// are kept separately, the latest maxTried of each user. The lease of a dropped release expires within its
// TTL.
//
// Example: Redis is out for a minute, and a script of Alice's polls thread:1 ten times a second. Node A tries
// to write every two seconds, and 30 of the 600 polls are open as it tries. Then maxTried ends wait and one
// more, and not 600 joins and 600 releases.

// maxTried is how many ends of one user's connections wait if the store may have the leases, although it
// never acknowledged them.
const maxTried = 8

// end handles the end of a connection. It removes waiting operations that the end makes pointless. It returns
// the operation to add, and false if there is none.
func (p *pending) end(op operation) (operation, bool) {
	if op.Kind != backend.OpRelease && op.Kind != backend.OpDrop {
		return op, true
	}
	if join, waits := p.waitingJoin(keyOf(op.Op)); waits {
		op.joined = true
		op.tried = op.tried || join < p.sent || !p.ops[join].fresh
		if op.endsAtOnce() && !op.tried {
			p.removeSince(join, keyOf(op.Op))
			return op, false
		}
		p.replaceEnds(&op)
		if op.renews() && p.alone(join, keyOf(op.Op)) {
			p.removeSince(join, keyOf(op.Op))
			op.hold = true
		}
	} else if op.hold {
		p.replaceEnds(&op)
	}
	return op, true
}

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

// alone reports whether no operation of the user's other holders came after a join, so that the join may be
// written later.
func (p *pending) alone(join int, key opKey) bool {
	for i := range p.of(key.user) {
		if i < join {
			break
		}
		if keyOf(p.ops[i].Op) != key {
			return false
		}
	}
	return true
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

// replaceEnds removes the waiting ends, with their joins, that a new end replaces.
func (p *pending) replaceEnds(now *operation) {
	tried := 0
	if now.tried {
		tried++
	}
	for i := range p.of(now.User.ID) {
		old := p.ops[i]
		if !old.joined {
			continue
		}
		replaced := !now.endsAtOnce() && old.Holder == now.Holder
		if old.tried || i < p.sent {
			tried++
			replaced = replaced || tried > maxTried
		} else {
			replaced = !now.endsAtOnce() // otherwise nobody is held for the grace
		}
		if !replaced {
			continue
		}
		now.inherit(old)
		p.removeEnd(i)
	}
}

// inherit takes over the rest of the grace of an end that the operation replaces.
func (op *operation) inherit(old operation) {
	left := time.Until(old.until)
	if op.Kind != backend.OpRelease || old.Kind != backend.OpRelease || left <= 0 {
		return
	}
	if old.until.After(op.until) {
		op.For, op.until = left, old.until
	}
	if op.renews() && old.renews() && op.lease.Idle && !old.lease.Idle { // rule 24
		lease := *op.lease
		lease.Idle = false
		op.lease = &lease
	}
}

// removeEnd removes the end of a connection, and its operations back to its join.
func (p *pending) removeEnd(end int) {
	op := p.ops[end]
	p.remove(end)
	if op.hold {
		return
	}
	key := keyOf(op.Op)
	for i := range p.of(op.User.ID) {
		if i > end || keyOf(p.ops[i].Op) != key {
			continue
		}
		switch p.ops[i].Kind {
		case backend.OpRelease, backend.OpDrop, backend.OpSignOff: // of an earlier lease of the holder
			return
		case backend.OpJoin:
			p.remove(i)
			return
		}
		p.remove(i)
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
		op.Kind, op.lease, op.hold = backend.OpDrop, nil, false
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
