package track

import (
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
}

// An order has the operations of one batch, by slot. The operations of one kind are together, where a store can apply them
// together. Those of different members may be in any order.
type order [slots][]backend.Op

// The slots of an order, as they are written. A choice comes before what the user did since: it has a moment of its own. What was
// before the sign-outs comes before them.
const (
	slotChoices = iota
	slotJoinsBefore
	slotKeepsBefore
	slotEndsBefore
	slotSignOuts
	slotViews
	slotJoins
	slotViewsSince // after the latest join: a store tells moments in milliseconds
	slotKeeps
	slotEnds
	slotOthers
	slotBeats
	slots

	beforeSignOuts = slotJoinsBefore - slotJoins // from a slot to that of before the sign-outs
)

// batch returns what is to be written of a topic. A cell waits whose user's choice this node does not know, as far as others
// would see the user by it. ask reports whether the caller must start the goroutine that asks for choices.
func (h *holdings) batch(topic presence.Topic, d *dirty, now time.Time) (ops []backend.Op, ask bool) {
	var to order
	to[slotOthers] = d.all()
	for _, c := range d.sorted() {
		ask = h.write(topic, c, now, &to) || ask
	}
	return slices.Concat(to[:]...), ask
}

// A reading says what one cell is about, as a flush reads it. users.mu is held.
type reading struct {
	*holdings
	*cell
	topic  presence.Topic
	user   presence.UserID
	chosen choice
	known  bool // the choice is
	now    time.Time
	to     *order
}

// write adds what is to be written of a cell. It blocks a part that waits for the user's choice, with users.mu held, so that no choice
// is learned in between. start is that of users.askFirst.
func (h *holdings) write(topic presence.Topic, c *cell, now time.Time, to *order) (start bool) {
	h.users.mu.Lock()
	defer h.users.mu.Unlock()
	r := reading{holdings: h, cell: c, topic: topic, user: ownerIn(topic, c.member), now: now, to: to}
	r.chosen, r.known = h.users.records.choice(r.user)
	rest := cell{member: c.member}
	if c.choice && !r.writeChoice() {
		rest.choice, c.choice = true, false
		rest.acks, c.acks = c.acks.split(wordChoice)
	}
	if c.view != nil && r.viewCounts() && !r.writeView() {
		rest.view, c.view = c.view, nil
	}
	if !r.writeLease(&c.pages, ownPages) {
		rest.pages, c.pages = c.pages, leaseCell{}
		acks, others := c.acks.split(wordPages)
		rest.acks, c.acks = append(rest.acks, acks...), others
	}
	r.writeLease(&c.visits, visitors)
	r.writeSignOut(backend.OpSignOut, c.out)
	if c.off.After(c.out) {
		r.writeSignOut(backend.OpSignOff, c.off)
	}
	if rest.view == nil && rest.pages.need == 0 && !rest.choice {
		return false
	}
	h.writer.block(topic, &rest)
	return h.users.askLocked(r.user)
}

func (r *reading) add(slot int, op backend.Op) { r.to[slot] = append(r.to[slot], op) }

// ago returns how long ago a moment was.
func (r *reading) ago(at time.Time) time.Duration {
	return max(r.now.Sub(at).Truncate(time.Millisecond), 0)
}

// writeChoice adds the operation that changes what a topic shows of a user's choice: see [presence.User.StatusOnly]. It returns
// false if this node knows none.
func (r *reading) writeChoice() bool {
	last, ever := r.users.records.last(r.user)
	if !ever {
		return false
	}
	op := backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: r.member, Status: last.Status, Rev: last.rev()}}
	if r.topic == backend.DevicesTopic {
		shown := r.choices.visibility(r.user, last.settings)
		op.User.Status, op.User.Visibility = "", &shown
	} else if since := r.ago(last.at); last.hides() && !last.at.IsZero() && since >= time.Second {
		op.Ago = since
	}
	r.add(slotChoices, op)
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
	v, slot := r.view, slotViews
	if _, by := r.users.leaseLocked(r.topic, r.member, false, false, r.now); by != nil && v.at.After(by.joinedLocked()) {
		slot = slotViewsSince
	}
	if r.known {
		r.add(slot, backend.Op{
			Kind: backend.OpSeen, User: r.choices.as(v.user, r.chosen).in(r.topic, v.device),
			For: v.pageView.at.Add(r.cfg.Age).Sub(r.now).Truncate(time.Millisecond), Ago: r.ago(later(v.at, r.chosen.shown)),
		})
	}
	return r.known
}

// writeLease adds what is to be written of a lease. It returns false if that waits for the user's choice.
func (r *reading) writeLease(l *leaseCell, holder presence.Holder) bool {
	if l.need == 0 && l.end == nil {
		return true
	}
	op, by := r.users.leaseLocked(r.topic, r.member, holder == visitors, l.silent, r.now)
	switch {
	case by == nil && l.end != nil:
		r.writeEnd(l, holder)
	case by == nil:
	case l.need == toBeat && l.end == nil:
		r.add(slotBeats, backend.Op{Kind: backend.OpHeartbeat, User: op.User, Holder: holder, For: op.For})
	case l.need != toMake:
		r.add(slotKeeps, op)
	case holder == visitors:
		op.For = r.cfg.ttl(r.topic)
		r.add(slotKeeps, op)
	case !r.known:
		return false
	default:
		r.add(slotJoins, r.joinOf(op, by.visitor))
		r.users.writtenLocked(r.topic, r.member, r.generation.n.Load())
	}
	return true
}

// joinOf returns the join of a visitor's page.
func (r *reading) joinOf(op backend.Op, v presence.Visitor) backend.Op {
	op.Kind, op.User, op.For = backend.OpJoin, r.choices.as(v.User, r.chosen).in(r.topic, v.Device), leaseFor(r.cfg.ttl(r.topic))
	return op
}

// writeEnd adds the end of a lease that no page holds any more. A page that came and went while its cell waited joins first, so that
// its user stays for the grace. The grace is as idle as the page was.
func (r *reading) writeEnd(l *leaseCell, holder presence.Holder) {
	end, graces, shift := l.end, r.graces(l.end), 0
	if !end.at.After(later(r.out, r.off)) || !graces {
		shift = beforeSignOuts
	}
	grace := time.Duration(0)
	if graces {
		if grace = end.grace; end.how == graced && holder == ownPages {
			r.writeCame(l, holder, shift)
		}
		if left := end.until.Sub(r.now); grace-left >= time.Second { // shorter times are ignored, so that equal operations can be applied together
			grace = max(left.Round(time.Second), min(grace, lateGrace))
		}
	}
	op := releaseOf(r.member, holder, backend.OpRelease, grace)
	if !graces && (end.how == dropped || end.grace > 0) {
		op.Kind = backend.OpDrop
	} else if waited := r.now.Sub(end.at); waited >= time.Second { // as before
		op.Ago = waited.Truncate(time.Second)
	}
	r.add(slotEnds+shift, op)
}

// graces reports whether an end holds its user for the grace: nobody is held for one after a sign-out.
func (r *reading) graces(e *leaseEnd) bool {
	return e.grace > 0 && e.identified.After(later(r.out, r.users.records.visitorEndedAt(e.visitor)))
}

// writeCame adds what a lease was before its end, if the store does not know that: the join of a page that came and went, or whether
// somebody was at it.
func (r *reading) writeCame(l *leaseCell, holder presence.Holder, shift int) {
	was := backend.Op{
		Kind: backend.OpKeep, User: presence.User{ID: r.member}, Holder: holder, For: leaseFor(r.cfg.ttl(r.topic)),
		Ago: r.ago(l.end.joined), Idle: l.end.idle, Pages: 1,
	}
	if l.need == toMake && r.known {
		r.add(slotJoins+shift, r.joinOf(was, l.end.visitor))
	} else if l.need == toKeep {
		r.add(slotKeeps+shift, was)
	}
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
	r.add(slotSignOuts, backend.Op{Kind: kind, User: user, Ago: r.ago(at)})
}

// leaseLocked returns the operation that says what this node holds of a member of a topic by connections, or by visits, and the
// latest of the pages that hold the member. It returns nil if no page here does. Silent pages count only if silent is true.
func (p *users) leaseLocked(topic presence.Topic, member presence.UserID, visits, silent bool, now time.Time) (keep backend.Op, latest *holder) {
	keep = backend.Op{Kind: backend.OpKeep, User: presence.User{ID: member}, Holder: ownPages}
	if visits {
		keep.Holder = visitors
	}
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
	keep.Idle, keep.Ago = u.idle, max(now.Sub(joined).Truncate(time.Millisecond), 0)
	length := p.cfg.ttl(topic)
	if !visits {
		length = leaseFor(length)
	}
	keep.For = length - now.Sub(proof).Truncate(p.cfg.ttl(topic)/32) // a store handles keeps of equal length together
	return keep, latest
}

// writtenLocked notes that the lease of a member was written in a generation.
func (p *users) writtenLocked(topic presence.Topic, member presence.UserID, n int32) {
	for _, h := range p.byID[ownerIn(topic, member)].connections {
		if !h.isVisit() && h.heldIn(topic) && h.member(topic) == member {
			h.inName.Store(n)
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

// releaseOf returns the operation that ends a lease: by OpRelease or OpDrop.
func releaseOf(user presence.UserID, holder presence.Holder, kind backend.OpKind, grace time.Duration) backend.Op {
	return backend.Op{Kind: kind, User: presence.User{ID: user}, Holder: holder, For: grace}
}
