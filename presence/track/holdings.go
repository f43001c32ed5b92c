package track

import (
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

// An order has the operations of one batch in the order in which they are written. The operations of one kind are together,
// where a store can apply them together. Those of different members may be in any order.
type order struct {
	choices      []backend.Op
	before       opsByKind // of before the sign-outs
	outs         []backend.Op
	after        opsByKind
	others, late []backend.Op // of nobody; heartbeats
}

type opsByKind struct{ views, joins, viewsSince, keeps, ends []backend.Op }

func (o *order) all() (ops []backend.Op) {
	for _, some := range [][]backend.Op{
		o.choices, o.before.views, o.before.joins, o.before.viewsSince, o.before.keeps, o.before.ends,
		o.outs, o.after.views, o.after.joins, o.after.viewsSince, o.after.keeps, o.after.ends, o.others, o.late,
	} {
		ops = append(ops, some...)
	}
	return ops
}

// batch returns what is to be written of a topic. A cell waits whose user's choice this node does not know, as far as others
// would see the user by it. ask reports whether the caller must start the goroutine that asks for choices.
func (h *holdings) batch(topic presence.Topic, d *dirty, now time.Time) (ops []backend.Op, ask bool) {
	o := order{others: d.all()}
	for _, c := range d.sorted() {
		ask = h.write(topic, c, now, &o) || ask
	}
	return o.all(), ask
}

// write adds what is to be written of a cell. It blocks a part that waits for the user's choice, with users.mu held, so that no choice
// is learned in between. start is that of users.askFirst.
func (h *holdings) write(topic presence.Topic, c *cell, now time.Time, to *order) (start bool) {
	h.users.mu.Lock()
	defer h.users.mu.Unlock()
	owner := ownerIn(topic, c.member)
	chosen, known := h.users.records.choice(owner)
	rest := cell{member: c.member}
	if c.choice {
		if last, ever := h.users.records.last(owner); ever {
			to.choices = append(to.choices, h.choice(topic, c.member, last, now))
		} else {
			rest.choice, c.choice = true, false
			rest.acks, c.acks = c.acks.split(wordChoice)
		}
	}
	if c.view != nil && h.counts(topic, c, now) {
		if known {
			h.view(topic, c, chosen, now, to)
		} else {
			rest.view, c.view = c.view, nil
		}
	}
	if h.lease(topic, c, &c.pages, ownPages, now, to) {
		rest.pages, c.pages = c.pages, leaseCell{}
		acks, others := c.acks.split(wordPages)
		rest.acks, c.acks = append(rest.acks, acks...), others
	}
	h.lease(topic, c, &c.visits, visitors, now, to)
	h.signOut(topic, c, chosen, now, to)
	if rest.view == nil && rest.pages.need == 0 && !rest.choice {
		return false
	}
	h.writer.block(topic, &rest)
	return h.users.askLocked(owner)
}

// counts reports whether a page view still holds its user: it is not too old, and before no sign-out.
func (h *holdings) counts(topic presence.Topic, c *cell, now time.Time) bool {
	records, user := h.users.records, c.view.user.ID
	return c.view.pageView.at.Add(h.cfg.Age).After(now) &&
		c.view.at.After(later(records.viewsEndedAt(user), records.endedAt(c.member))) &&
		records.endedAt(backend.MemberOf(user, c.view.device.ID)).Before(c.view.pageView.at)
}

// view adds a page view. Of a user who hid it is no earlier than the end of that.
func (h *holdings) view(topic presence.Topic, c *cell, chosen choice, now time.Time, to *order) {
	v := c.view
	op := backend.Op{
		Kind: backend.OpSeen, User: h.choices.as(v.user, chosen).in(topic, v.device),
		For: v.pageView.at.Add(h.cfg.Age).Sub(now).Truncate(time.Millisecond), Ago: ago(later(v.at, chosen.shown), now),
	}
	if _, by := h.users.leaseLocked(topic, c.member, false, false, now); by != nil && v.at.After(by.joinedLocked()) { // a store tells moments in milliseconds
		to.after.viewsSince = append(to.after.viewsSince, op)
	} else {
		to.after.views = append(to.after.views, op)
	}
}

// lease adds what is to be written of a lease. It reports whether that waits for the user's choice.
func (h *holdings) lease(topic presence.Topic, c *cell, l *leaseCell, holder presence.Holder, now time.Time, to *order) (waits bool) {
	if l.need == 0 && l.end == nil {
		return false
	}
	chosen, known := h.users.records.choice(ownerIn(topic, c.member))
	op, by := h.users.leaseLocked(topic, c.member, holder == visitors, l.silent, now)
	switch {
	case by == nil:
		if l.end != nil {
			h.end(topic, c, l, holder, now, to)
		}
	case l.need == toBeat && l.end == nil:
		to.late = append(to.late, backend.Op{Kind: backend.OpHeartbeat, User: op.User, Holder: holder, For: op.For})
	case l.need != toMake:
		to.after.keeps = append(to.after.keeps, op)
	case holder == visitors:
		op.For = h.cfg.ttl(topic)
		to.after.keeps = append(to.after.keeps, op)
	case !known:
		return true
	default:
		op.Kind, op.User, op.For = backend.OpJoin, h.choices.as(by.visitor.User, chosen).in(topic, by.visitor.Device), leaseFor(h.cfg.ttl(topic))
		joins := &to.after.joins
		if !by.joinedLocked().After(c.off) { // who signed off elsewhere since
			joins = &to.before.joins
		}
		*joins = append(*joins, op)
		h.users.writtenLocked(topic, c.member, h.generation.n.Load())
	}
	return false
}

// end adds the end of a lease that no page holds any more. A page that came and went while its cell waited joins first, so that
// its user stays for the grace.
func (h *holdings) end(topic presence.Topic, c *cell, l *leaseCell, holder presence.Holder, now time.Time, to *order) {
	end, ops := l.end, &to.before
	grace := end.grace
	switch signedOut := later(c.out, h.users.records.visitorEndedAt(end.visitor)); {
	case grace == 0:
	case !end.identified.After(signedOut): // nobody is held for a grace after a sign-out
		grace, end = 0, &leaseEnd{how: dropped}
	case end.at.After(later(c.out, c.off)):
		ops = &to.after
	}
	last := backend.Op{User: presence.User{ID: c.member}, Holder: holder, For: leaseFor(h.cfg.ttl(topic)), Ago: ago(end.joined, now), Idle: end.idle, Pages: 1}
	chosen, known := h.users.records.choice(end.visitor.User.ID)
	switch {
	case grace == 0 || end.how == givenUp || holder == visitors:
	case l.need == toMake && known:
		last.Kind, last.User = backend.OpJoin, h.choices.as(end.visitor.User, chosen).in(topic, end.visitor.Device)
		ops.joins = append(ops.joins, last)
	case l.need == toKeep: // the grace is as idle as the page was
		last.Kind = backend.OpKeep
		ops.keeps = append(ops.keeps, last)
	}
	op := releaseOf(c.member, holder, backend.OpRelease, grace)
	if end.how == dropped {
		op.Kind = backend.OpDrop
	}
	if waited := now.Sub(end.at); end.how != dropped && waited >= time.Second { // shorter times are ignored, so that equal operations can be applied together
		op.Ago = waited.Truncate(time.Second)
	}
	if left := end.until.Sub(now); grace > 0 && grace-left >= time.Second { // as before
		op.For = max(left.Round(time.Second), min(grace, lateGrace))
	}
	ops.ends = append(ops.ends, op)
}

// lateGrace is the least length of a grace that begins after an outage. By its end, the nodes have noticed
// that the store is back, and a node to which the user has moved holds the user.
const lateGrace = returningFor + backoffLast

// signOut adds the sign-outs of a cell.
func (h *holdings) signOut(topic presence.Topic, c *cell, chosen choice, now time.Time, to *order) {
	for _, out := range []struct {
		kind backend.OpKind
		at   time.Time
	}{{backend.OpSignOut, c.out}, {backend.OpSignOff, c.off}} {
		if out.at.IsZero() || out.kind == backend.OpSignOff && !c.off.After(c.out) {
			continue
		}
		user := presence.User{ID: c.member}
		if topic != backend.DevicesTopic && chosen.hides() && !chosen.at.After(out.at) { // the topic may have forgotten that (OpSignOut)
			user.Status, user.Rev = chosen.Status, chosen.rev()
		}
		to.outs = append(to.outs, backend.Op{Kind: out.kind, User: user, Ago: ago(out.at, now)})
	}
}

// choice returns the operation that changes what a topic shows of a user's choice: see [presence.User.StatusOnly].
func (h *holdings) choice(topic presence.Topic, member presence.UserID, now choice, at time.Time) backend.Op {
	user := presence.User{ID: member, Status: now.Status, Rev: now.rev()}
	if topic == backend.DevicesTopic {
		shown := h.choices.visibility(ownerIn(topic, member), now.settings)
		user.Status, user.Visibility = "", &shown
	}
	op := backend.Op{Kind: backend.OpUpdate, User: user}
	if since := ago(now.at, at); since >= time.Second && !now.at.IsZero() && now.hides() && topic != backend.DevicesTopic {
		op.Ago = since
	}
	return op
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
	keep.Idle, keep.Ago = u.idle, ago(joined, now)
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

// leasesLocked calls each for each member of a topic that a user's pages here hold, and whether these are visits.
func (u *knownUser) leasesLocked(each func(topic presence.Topic, member presence.UserID, visits bool)) {
	type lease struct {
		topic  presence.Topic
		member presence.UserID
		visits bool
	}
	done := make(map[lease]bool)
	for _, h := range u.connections {
		if h.held.asked == 0 {
			continue
		}
		for _, topic := range h.heldTopics() {
			of := lease{topic, h.member(topic), h.isVisit()}
			if !done[of] {
				done[of] = true
				each(of.topic, of.member, of.visits)
			}
		}
	}
}

// ago returns how long ago a moment was, as operations tell it.
func ago(at, now time.Time) time.Duration { return max(now.Sub(at).Truncate(time.Millisecond), 0) }

// releaseOf returns the operation that ends a lease: by OpRelease or OpDrop.
func releaseOf(user presence.UserID, holder presence.Holder, kind backend.OpKind, grace time.Duration) backend.Op {
	return backend.Op{Kind: kind, User: presence.User{ID: user}, Holder: holder, For: grace}
}
