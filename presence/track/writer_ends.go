package track

import (
	"slices"
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
func (l queue) end(op operation) (queue, operation, bool) {
	if op.Kind != backend.OpRelease && op.Kind != backend.OpDrop {
		return l, op, true
	}
	join := l.waitingJoin(op.Holder)
	if join >= 0 {
		op.joined = true
		op.tried = op.tried || l[join].sent || !l[join].fresh
		if op.endsAtOnce() && !op.tried {
			return l.withoutSince(join), op, false
		}
	}
	if join >= 0 || op.hold {
		l = l.replaceEnds(&op)
	}
	if join = l.waitingJoin(op.Holder); join >= 0 && op.renews() && l[join:].alone() {
		l, op.hold = l[:join], true
	}
	return l, op, true
}

// waitingJoin returns the index of the waiting join of a holder that has not ended; -1: there is none.
func (l queue) waitingJoin(holder presence.Holder) int {
	for i, op := range slices.Backward(l) {
		switch {
		case op.Holder != holder:
		case op.Kind == backend.OpJoin:
			return i
		case op.Kind == backend.OpRelease, op.Kind == backend.OpDrop, op.Kind == backend.OpSignOff:
			return -1
		}
	}
	return -1
}

// alone reports whether all operations are of one holder, so that the first of them may be written later.
func (l queue) alone() bool {
	return !slices.ContainsFunc(l, func(op operation) bool { return keyOf(op.Op) != keyOf(l[0].Op) })
}

// withoutSince returns the operations without those of a holder from its join on.
func (l queue) withoutSince(join int) queue {
	key := keyOf(l[join].Op)
	return append(l[:join], slices.DeleteFunc(l[join:], func(op operation) bool { return keyOf(op.Op) == key })...)
}

// replaceEnds removes the waiting ends, with their joins, that a new end replaces.
func (l queue) replaceEnds(now *operation) queue {
	tried := 0
	if now.tried {
		tried++
	}
	for i := len(l) - 1; i >= 0; i-- {
		old := l[i]
		if !old.joined {
			continue
		}
		replaced := !now.endsAtOnce() && old.Holder == now.Holder
		if old.tried || old.sent {
			tried++
			replaced = replaced || tried > maxTried
		} else {
			replaced = !now.endsAtOnce() // otherwise nobody is held for the grace
		}
		if replaced {
			now.inherit(old)
			rest := l.withoutEnd(i)
			i -= len(l) - len(rest) - 1
			l = rest
		}
	}
	return l
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

// withoutEnd returns the operations without the end of a connection, and without those of the connection before it.
func (l queue) withoutEnd(end int) queue {
	op := l[end]
	l = slices.Delete(l, end, end+1)
	if op.hold {
		return l
	}
	key := keyOf(op.Op)
	for i := end - 1; i >= 0; i-- {
		if keyOf(l[i].Op) != key {
			continue
		}
		kind := l[i].Kind
		if kind == backend.OpRelease || kind == backend.OpDrop || kind == backend.OpSignOff { // of an earlier lease of the holder
			break
		}
		l = slices.Delete(l, i, i+1)
		if kind == backend.OpJoin {
			break
		}
	}
	return l
}

// giveUp removes the join of a connection whose client left while it was being opened, if the join was not
// sent.
func (p *pending) giveUp(join backend.Op) bool {
	list := p.of(join.User.ID)
	i := list.waitingJoin(join.Holder)
	if i < 0 || list[i].sent || !list[i].fresh {
		return false
	}
	p.set(subjectOf(join), list.withoutSince(i))
	return true
}

// dropVoid removes what must not be written any more: page views that hold no longer, because the store was out for as long,
// and what was asked for before a sign-out. The ends of connections of before become drops: no lease is renewed for them,
// and nobody is held for the grace.
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
			case op.lease != nil && !op.lease.identified.After(records.visitorEndedAt(op.lease.visitor)):
				if op.hold {
					continue
				}
				op.Kind, op.lease = backend.OpDrop, nil
			}
			kept = append(kept, op)
		}
		p.set(subject, kept)
	}
}
