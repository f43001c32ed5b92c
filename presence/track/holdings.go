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

// opsByKind are the operations of one batch. Those of one kind are together, where a store can apply them together.
type opsByKind struct {
	views, joins, viewsSince, keeps, ends, outs, choices, beats []backend.Op
}

func (w *opsByKind) all(others []backend.Op) (ops []backend.Op) {
	for _, some := range [][]backend.Op{w.views, w.joins, w.viewsSince, w.keeps, w.ends, w.outs, w.choices, others, w.beats} {
		ops = append(ops, some...)
	}
	return ops
}

// batch returns what is to be written of a topic. A cell waits whose user's choice this node does not know, as far as others
// would see the user by it. unknown are these users.
func (h *holdings) batch(topic presence.Topic, d *dirty, now time.Time) (ops []backend.Op, unknown []presence.UserID) {
	var w opsByKind
	for _, c := range d.sorted() {
		if rest := h.write(topic, c, now, &w); rest {
			unknown = append(unknown, ownerIn(topic, c.member))
		}
	}
	return w.all(d.all()), unknown
}

// write adds what is to be written of a cell. It reports whether a part of the cell waits for the user's choice. It blocks that
// part with users.mu held, so that no choice is learned in between.
func (h *holdings) write(topic presence.Topic, c *cell, now time.Time, to *opsByKind) (waits bool) {
	h.users.mu.Lock()
	defer h.users.mu.Unlock()
	owner := ownerIn(topic, c.member)
	chosen, known := h.users.records.choice(owner)
	rest := cell{member: c.member}
	if c.view != nil && h.counts(topic, c, now) {
		if known {
			views := &to.views
			if at, holds := h.users.joinedAtLocked(topic, c.member, now); holds && c.view.at.After(at) { // a store tells moments in milliseconds
				views = &to.viewsSince
			}
			*views = append(*views, h.view(topic, c.view, chosen, now))
		} else {
			rest.view, c.view = c.view, nil
		}
	}
	if h.lease(topic, c.member, &c.pages, ownPages, now, to) {
		rest.pages, c.pages = c.pages, leaseCell{}
		rest.acks, c.acks = c.acks.split(wordPages)
	}
	h.lease(topic, c.member, &c.visits, visitors, now, to)
	h.signOut(topic, c, chosen, now, to)
	if c.choice {
		if last, ever := h.users.records.last(owner); ever {
			to.choices = append(to.choices, h.choice(topic, c.member, last, now))
		} else {
			rest.choice, c.choice = true, false
		}
	}
	if waits = rest.view != nil || rest.pages.need != 0 || rest.choice; waits {
		h.writer.block(topic, &rest)
	}
	return waits
}

// counts reports whether a page view still holds its user: it is not too old, and before no sign-out.
func (h *holdings) counts(topic presence.Topic, c *cell, now time.Time) bool {
	records, user := h.users.records, c.view.user.ID
	return c.view.pageView.at.Add(h.cfg.Age).After(now) &&
		c.view.at.After(later(records.viewsEndedAt(user), records.endedAt(c.member))) &&
		records.endedAt(backend.MemberOf(user, c.view.device.ID)).Before(c.view.pageView.at)
}

func (h *holdings) view(topic presence.Topic, v *viewCell, chosen choice, now time.Time) backend.Op {
	return backend.Op{
		Kind: backend.OpSeen, User: h.choices.as(v.user, chosen).in(topic, v.device),
		For: v.pageView.at.Add(h.cfg.Age).Sub(now).Truncate(time.Millisecond), Ago: ago(v.at, now),
	}
}

// lease adds what is to be written of a lease. It reports whether that waits for the user's choice.
func (h *holdings) lease(topic presence.Topic, member presence.UserID, l *leaseCell, holder presence.Holder, now time.Time, to *opsByKind) (waits bool) {
	if l.need == 0 && l.end == nil {
		return false
	}
	user := ownerIn(topic, member)
	chosen, known := h.users.records.choice(user)
	op, by := h.users.leaseLocked(topic, member, holder == visitors, now)
	switch {
	case by == nil:
		h.end(topic, member, l, holder, now, to)
	case l.need == toBeat && l.end == nil:
		to.beats = append(to.beats, backend.Op{Kind: backend.OpHeartbeat, User: op.User, Holder: holder, For: op.For})
	case l.need != toMake:
		to.keeps = append(to.keeps, op)
	case holder == visitors:
		op.For = h.cfg.ttl(topic)
		to.keeps = append(to.keeps, op)
	case !known:
		return true
	default:
		op.Kind, op.User, op.For = backend.OpJoin, h.choices.as(by.visitor.User, chosen).in(topic, by.visitor.Device), leaseFor(h.cfg.ttl(topic))
		to.joins = append(to.joins, op)
		h.users.writtenLocked(topic, member, h.generation.n.Load())
	}
	return false
}

// end adds the end of a lease that no page holds any more. A page that came and went while its cell waited joins first, so that
// its user stays for the grace.
func (h *holdings) end(topic presence.Topic, member presence.UserID, l *leaseCell, holder presence.Holder, now time.Time, to *opsByKind) {
	end := l.end
	if end == nil {
		return
	}
	grace := end.grace
	if grace > 0 && !end.identified.After(h.users.records.visitorEndedAt(end.visitor)) { // nobody is held for a grace after a sign-out
		grace, end = 0, &leaseEnd{how: dropped}
	}
	if l.need == toMake && grace > 0 && end.how != givenUp && holder == ownPages {
		if chosen, known := h.users.records.choice(end.visitor.User.ID); known {
			to.joins = append(to.joins, backend.Op{
				Kind: backend.OpJoin, User: h.choices.as(end.visitor.User, chosen).in(topic, end.visitor.Device), Holder: holder,
				For: leaseFor(h.cfg.ttl(topic)), Ago: ago(end.joined, now),
			})
		}
	}
	op := releaseOf(member, holder, backend.OpRelease, grace)
	if end.how == dropped {
		op.Kind = backend.OpDrop
	}
	if waited := now.Sub(end.at); end.how != dropped && waited >= time.Second { // shorter times are ignored, so that equal operations can be applied together
		op.Ago = waited.Truncate(time.Second)
	}
	if left := end.until.Sub(now); grace > 0 && grace-left >= time.Second { // as before
		op.For = max(left.Round(time.Second), min(grace, lateGrace))
	}
	to.ends = append(to.ends, op)
}

// lateGrace is the least length of a grace that begins after an outage. By its end, the nodes have noticed
// that the store is back, and a node to which the user has moved holds the user.
const lateGrace = returningFor + backoffLast

// signOut adds the sign-outs of a cell.
func (h *holdings) signOut(topic presence.Topic, c *cell, chosen choice, now time.Time, to *opsByKind) {
	user := presence.User{ID: c.member}
	if topic != backend.DevicesTopic && chosen.hides() { // the topic may have forgotten that (OpSignOut)
		user.Status, user.Rev = chosen.Status, chosen.rev()
	}
	if !c.out.IsZero() {
		to.outs = append(to.outs, backend.Op{Kind: backend.OpSignOut, User: user, Ago: ago(c.out, now)})
	}
	if c.off.After(c.out) {
		to.outs = append(to.outs, backend.Op{Kind: backend.OpSignOff, User: user, Ago: ago(c.off, now)})
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
// latest of the pages that hold the member. It returns nil if no page here does, except silent ones.
func (p *users) leaseLocked(topic presence.Topic, member presence.UserID, visits bool, now time.Time) (keep backend.Op, latest *holder) {
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
		if h.isVisit() != visits || !h.holdsLocked(topic, member, now) {
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

// joinedAtLocked returns when the latest page joined of those that hold a member of a topic here. It returns false if none does.
func (p *users) joinedAtLocked(topic presence.Topic, member presence.UserID, now time.Time) (at time.Time, holds bool) {
	if _, by := p.leaseLocked(topic, member, false, now); by != nil {
		return by.joinedLocked(), true
	}
	return at, false
}

// writtenLocked notes that the lease of a member was written in a generation.
func (p *users) writtenLocked(topic presence.Topic, member presence.UserID, n int32) {
	for _, h := range p.byID[ownerIn(topic, member)].connections {
		if !h.isVisit() && h.heldIn(topic) && h.member(topic) == member {
			h.inName.Store(n)
		}
	}
}

// holdsLocked reports whether a page holds a member of a topic: it is not silent, or its beats may come to other nodes.
func (h *holder) holdsLocked(topic presence.Topic, member presence.UserID, now time.Time) bool {
	return h.heldIn(topic) && h.member(topic) == member && (!h.silentInLocked(topic) || momentOf(now) < h.held.excused)
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
