package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// holdings says what is to be written of a cell: what this node holds of the member at that moment. What this node holds of a
// user in a topic is one lease in the store, however many pages are open here. It is derived from these pages, and written
// whole. A second lease holds the users of visits: it does not hang on this process.
type holdings struct {
	cfg        *Config
	users      *users
	choices    *choices
	writer     *writer
	generation *generation
	rev        int64 // of what is written now (backend.Op.Rev); one more is that of an end
}

// batch returns what is to be written of a topic, in any order: operations of one kind are together, since a store can apply them
// together. A cell waits whose user's choice this node does not know, as far as others would see the user by it.
func (h *holdings) batch(topic presence.Topic, d *dirty, now time.Time) []backend.Op {
	h.rev += 2
	ops := d.all()
	for _, cells := range d.cells {
		for _, c := range cells {
			h.write(topic, c, now, &ops)
		}
	}
	slices.SortStableFunc(ops, func(a, b backend.Op) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.User.ID, b.User.ID))
	})
	return ops
}

// A reading says what one cell is about, as a flush reads it. users.mu is held.
type reading struct {
	*holdings
	*cell
	topic  presence.Topic
	user   presence.UserID
	chosen choice
	known  bool // the choice is
	gen    int32
	now    time.Time
	ops    *[]backend.Op
}

// write adds what is to be written of a cell. It blocks a part that waits for the user's choice, with users.mu held, so that no choice
// is learned in between.
func (h *holdings) write(topic presence.Topic, c *cell, now time.Time, ops *[]backend.Op) {
	h.users.mu.Lock()
	defer h.users.mu.Unlock()
	r := reading{holdings: h, cell: c, topic: topic, user: ownerIn(topic, c.member), now: now, ops: ops, gen: h.generation.n.Load()}
	r.chosen, r.known = h.users.records.choice(r.user)
	rest := cell{member: c.member}
	if c.choice && !r.writeChoice() {
		rest.choice, c.choice = true, false
		rest.acks, c.acks = c.acks.split(wordChoice)
	}
	if c.view != nil && r.viewCounts() && !r.writeView() {
		rest.view, c.view = c.view, nil
	}
	if !r.writeLease(&c.pages, false) {
		rest.pages, c.pages = c.pages, leaseCell{}
		acks, others := c.acks.split(wordPages)
		rest.acks, c.acks = append(rest.acks, acks...), others
	}
	r.writeLease(&c.visits, true)
	r.writeSignOut(backend.OpSignOut, c.out)
	if c.off.After(c.out) {
		r.writeSignOut(backend.OpSignOff, c.off)
	}
	if rest.view != nil || rest.pages.need != 0 || rest.choice {
		h.writer.block(topic, &rest)
		h.users.askLocked(r.user)
	}
}

func (r *reading) add(op backend.Op) { *r.ops = append(*r.ops, op) }

// ago returns how long ago a moment was.
func (r *reading) ago(at time.Time) time.Duration {
	return max(r.now.Sub(at).Truncate(time.Millisecond), 0)
}

// writeChoice adds the operation that changes what a topic shows of a user's choice. It returns false if this node knows none.
func (r *reading) writeChoice() bool {
	last, ever := r.users.records.last(r.user)
	if !ever {
		return false
	}
	op := backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: r.member, Status: last.Status, Rev: last.rev()}}
	if r.topic == backend.DevicesTopic {
		shown := r.choices.visibility(r.user, last.settings)
		op.User.Status, op.User.Visibility = "", &shown
	} else if last.hides() && !last.at.IsZero() {
		op.Ago = r.ago(last.at)
	}
	r.add(op)
	return true
}

// viewCounts reports whether the page view still holds its user: it is not too old, and before no sign-out.
func (r *reading) viewCounts() bool {
	records, v := r.users.records, r.view
	return v.pageView.at.Add(r.cfg.Age).After(r.now) &&
		v.at.After(later(records.viewsEndedAt(r.user), records.endedAt(r.member))) &&
		records.endedAt(backend.MemberOf(r.user, v.device.ID)).Before(v.pageView.at)
}

// writeView adds the page view, unless the choice is not known. Of a user who hid it is no earlier than the end of that.
func (r *reading) writeView() bool {
	if v := r.view; r.known {
		r.add(backend.Op{
			Kind: backend.OpSeen, User: r.choices.as(v.user, r.chosen).in(r.topic, v.device),
			For: v.pageView.at.Add(r.cfg.Age).Sub(r.now).Truncate(time.Millisecond), Ago: r.ago(later(v.at, r.chosen.shown)),
		})
	}
	return r.known
}

// writeLease adds what is to be written of a lease. It returns false if that waits for the user's choice.
func (r *reading) writeLease(l *leaseCell, visits bool) bool {
	if l.need == 0 && l.end == nil {
		return true
	}
	op, by := r.users.leaseLocked(r.topic, r.member, visits, l.silent, r.now)
	op.Holder, op.Gen, op.Rev = r.generation.holder(visits), r.gen, r.rev
	switch {
	case by == nil && l.end != nil:
		r.writeEnd(l, op, visits)
	case by == nil:
	case l.need == toBeat && l.end == nil:
		r.add(backend.Op{Kind: backend.OpHeartbeat, User: op.User, Holder: op.Holder, For: op.For})
	case l.need != toMake:
		r.add(op)
	case visits:
		op.For, op.Ago = r.cfg.ttl(r.topic), 0
		r.add(op)
	case !r.known:
		return false
	default:
		r.add(r.joinOf(op, by.visitor))
	}
	return true
}

// joinOf returns the join of a visitor's page.
func (r *reading) joinOf(op backend.Op, v presence.Visitor) backend.Op {
	op.Kind, op.User, op.For, op.Ago = backend.OpJoin, r.choices.as(v.User, r.chosen).in(r.topic, v.Device), leaseFor(r.cfg.ttl(r.topic)), 0
	return op
}

// writeEnd adds the end of a lease that no page holds any more. A page that came and went while its cell waited joins too, so that
// its user stays for the grace. The grace is as idle as the page was.
func (r *reading) writeEnd(l *leaseCell, op backend.Op, visits bool) {
	end := l.end
	graces := r.graces(end)
	if graces && end.how == graced && l.need == toMake && r.known && !visits {
		came := r.joinOf(op, end.visitor)
		came.Joined = r.ago(end.joined)
		r.add(came)
	}
	op.Kind, op.Rev, op.For, op.Ago, op.Joined, op.Idle, op.Pages = backend.OpRelease, r.rev+1, 0, r.ago(end.proof), 0, end.idle, 0
	if graces {
		if op.For = end.grace; op.Ago >= time.Second { // shorter times are ignored, so that equal operations can be applied together
			op.For = max(end.until.Sub(r.now).Round(time.Second), min(end.grace, lateGrace))
		}
	} else if out := r.users.records.visitorEndedAt(end.visitor); out.After(end.joined) && out.Before(end.proof) {
		op.Ago = r.ago(out)
	}
	r.add(op)
}

// graces reports whether an end holds its user for the grace: nobody is held for one after a sign-out.
func (r *reading) graces(e *leaseEnd) bool {
	return e.grace > 0 && e.identified.After(later(r.out, r.users.records.visitorEndedAt(e.visitor)))
}

// lateGrace is the least length of a grace that begins after an outage. By its end, the nodes have noticed
// that the store is back, and a node to which the user has moved holds the user.
const lateGrace = returningFor + backoffLast

// writeSignOut adds a sign-out at a moment. It has the status of who hid before, because the topic may have forgotten that (OpSignOut).
func (r *reading) writeSignOut(kind backend.OpKind, at time.Time) {
	if at.IsZero() {
		return
	}
	user := presence.User{ID: r.member}
	if r.topic != backend.DevicesTopic && r.chosen.hides() && !r.chosen.at.After(at) {
		user.Status, user.Rev = r.chosen.Status, r.chosen.rev()
	}
	r.add(backend.Op{Kind: kind, User: user, Ago: r.ago(at)})
}

// leaseLocked returns the operation that says what this node holds of a member of a topic by connections, or by visits, and the
// latest of the pages that hold the member. It returns nil if no page here does. Silent pages count only if silent is true.
func (p *users) leaseLocked(topic presence.Topic, member presence.UserID, visits, silent bool, now time.Time) (keep backend.Op, latest *holder) {
	keep = backend.Op{Kind: backend.OpKeep, User: presence.User{ID: member}}
	u := p.byID[ownerIn(topic, member)]
	if u == nil {
		return keep, nil
	}
	var joined, proof time.Time
	for _, h := range u.connections {
		if h.isVisit() != visits || !h.heldIn(topic) || h.member(topic) != member || !silent && h.silentInLocked(topic) {
			continue
		}
		if at := h.joinedLocked(); latest == nil || at.After(joined) {
			latest, joined = h, at
		}
		proof = later(proof, h.lastProof())
		if !visits {
			keep.Pages++
		}
	}
	keep.Idle, keep.Joined = u.idle, max(now.Sub(joined).Truncate(time.Millisecond), 0)
	keep.Ago = now.Sub(proof).Truncate(p.cfg.ttl(topic) / 32) // a store handles keeps of equal length together
	keep.For = p.cfg.ttl(topic) - keep.Ago
	if !visits {
		keep.For = leaseFor(p.cfg.ttl(topic)) - keep.Ago
	}
	return keep, latest
}

// written notes that the store took joins of pages and words of visits, each in a generation.
func (p *users) written(topic presence.Topic, ops []backend.Op, visits presence.Holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, op := range ops {
		u := p.byID[ownerIn(topic, op.User.ID)]
		ofVisit := op.Kind == backend.OpKeep && op.Holder == visits
		if u == nil || op.Kind != backend.OpJoin && !ofVisit {
			continue
		}
		for _, h := range u.connections {
			if h.isVisit() == ofVisit && h.heldIn(topic) && h.member(topic) == op.User.ID {
				h.written.Store(op.Gen)
			}
		}
	}
}

// joinedLocked returns when a page joined, as far as its lease says.
func (h *holder) joinedLocked() time.Time {
	if h.held.opened.IsZero() {
		return h.held.asked.time()
	}
	return h.held.opened
}
