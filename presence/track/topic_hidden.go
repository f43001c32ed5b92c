package track

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What a node shows of users who hid, or who chose who sees them, before the store reports it.

// hidesWithin is the longest time for which a user who became invisible is still listed. A store that works
// reports the leave before.
const hidesWithin = 200 * time.Millisecond

// expectHidden is expectLeave for a user who became invisible. left is the leave to publish if the store
// reports none.
func (r *replica) expectHidden(left backend.Departure) {
	r.expectLeave(left.ID)
	if view := r.view.Load(); view != nil && view.roster.get(left.ID) != nil {
		time.AfterFunc(hidesWithin, func() { r.hide(left) })
	}
}

// hide removes a user who became invisible and whose leave the store has not reported. The store may have
// lost the user, its diffs may be late, or the choice may not be written yet.
func (r *replica) hide(left backend.Departure) {
	id := left.ID
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, leaving := r.provisional.leaving[id]; !leaving || r.closed {
		return
	}
	r.publishPendingLocked()
	if e := r.ledger.get(id); e != nil {
		r.withholdLocked(e, left)
	}
}

// withholdLocked removes a listed user from the roster. The user is then a revived one.
func (r *replica) withholdLocked(e *entry, left backend.Departure) {
	r.provisional.revive(e, r.kind.TTL, r.expireProvisional)
	r.provisional.expectLeave(e.ID)
	r.decideLocked(net{leaves: []backend.Departure{left}})
}

// A concealment lists users of whom this node knows a newer choice than the store has: fewer viewers may see them. The
// node that holds such a user has not written the choice yet, or a diff from before the choice comes late.
type concealment struct {
	gone     []presence.UserID // users who became invisible
	narrowed shownChoices      // devices of users who chose fewer viewers
}

// concealedIn returns what this node knows of the users in a store's roster. The topic's mutex is not held.
//
// Example: node b, which has Alice's page of thread:1, stands still. She hides at node a, where nobody reads
// thread:1. The next reader of it there does not see her, and the next reader of people does not see her phone.
func (env *topicEnv) concealedIn(topic presence.Topic, stored roster) (h concealment) {
	stored.bySince.Scan(func(e *entry) bool {
		env.conceal(&h, topic, e.Member)
		return true
	})
	return h
}

// concealedAmong returns what this node knows of the users in diffs. The topic's mutex is not held.
//
// Example: a node is cut off at 12:00:00. Alice comes at 12:00:01, Redis is wiped, and she hides at 12:00:03. The node
// hears of her choice first, and then of the diff of her join. No other diff follows.
func (env *topicEnv) concealedAmong(topic presence.Topic, diffs ...backend.Diff) (h concealment) {
	for _, d := range diffs {
		for _, shown := range [][]presence.Member{d.Joins, d.Updates} {
			for _, m := range shown {
				env.conceal(&h, topic, m)
			}
		}
	}
	return h
}

// conceal adds a member, as the store has it, if this node knows that fewer viewers may see its user.
func (env *topicEnv) conceal(h *concealment, topic presence.Topic, m presence.Member) {
	switch {
	case topic != backend.DevicesTopic:
		if env.hides != nil && env.hides(m.ID) {
			h.gone = append(h.gone, m.ID)
		}
	case env.chosen != nil && m.Visibility != nil:
		user, _ := backend.OwnerOf(m.ID)
		v := env.chosen(user)
		newer := v != nil && !v.Since.IsZero() && m.Visibility.Since.After(v.Since) // the user shows again, as this node has not heard yet
		if v != nil && !newer && v.Narrows(*m.Visibility) {
			h.narrowed.set(m.ID, chosenVisibility{Visibility: v, shown: true, kept: true})
		}
	}
}

// keepOutLocked keeps users who are not listed out of the roster until the store reports that they hid, or they
// choose to be visible.
func (r *replica) keepOutLocked(h concealment) {
	for _, id := range h.gone {
		if r.closed || !r.ledger.loaded() || r.ledger.get(id) != nil {
			continue
		}
		r.provisional.expectLeave(id)
	}
}

// narrow makes Views show the devices of a ledger as their users chose, until a diff or the Directory says what the
// users chose.
func (h concealment) narrow(p *provisional, l *ledger) {
	for id, chosen := range h.narrowed {
		if e := l.get(id); e != nil && chosen.Narrows(e.visibility()) {
			p.chosen.set(id, chosen)
		}
	}
}

// without returns a diff without the users who are kept out. They are revived ones then. expires is called at the
// next deadline.
func (p *provisional) without(d backend.Diff, l *ledger, ttl time.Duration, expires func()) backend.Diff {
	listed := func(shown []presence.Member) (listed []presence.Member) {
		for _, m := range shown {
			if p.expects(m.ID, ttl) && l.get(m.ID) == nil {
				p.revive(newEntry(m), ttl, expires)
				p.kept = true
			} else {
				listed = append(listed, m)
			}
		}
		return listed
	}
	d.Joins, d.Updates = listed(d.Joins), listed(d.Updates)
	return d
}

// revive makes a user who is not listed a revived one. expires is called at the next deadline.
func (p *provisional) revive(e *entry, ttl time.Duration, expires func()) {
	if !p.open() {
		p.after(admitFor(ttl), expires)
	}
	p.postpone(ttl)
	if p.revived == nil {
		p.revived = make(map[presence.UserID]*entry)
	}
	p.revived[e.ID], p.active = e, true
}

// withheld returns the revived users, with their entries in the store.
func (r *replica) withheld() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.provisional.revived))
}

// endsView reports whether the page views of a revived user are still to be ended. It does so once.
func (r *replica) endsView(id presence.UserID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.provisional
	ends := p.revived[id] != nil && p.ended[id] != p.revived[id]
	if ends {
		if p.ended == nil {
			p.ended = make(map[presence.UserID]*entry)
		}
		p.ended[id] = p.revived[id]
	}
	return ends
}

// withholds reports whether a user is a revived one.
func (r *replica) withholds(id presence.UserID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.provisional.revived[id] != nil
}

// admit puts a revived user on the roster: this node holds the user, or the user chose to be visible.
func (r *replica) admit(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.provisional.revived[id]; e != nil && !r.closed {
		r.publishPendingLocked()
		r.provisional.forget(id)
		r.decideLocked(net{joins: []*entry{e}})
	}
}

// cancelHidden undoes expectHidden: the user is visible again.
func (r *replica) cancelHidden(id presence.UserID) {
	r.mu.Lock()
	delete(r.provisional.leaving, id)
	r.mu.Unlock()
	r.admit(id)
}

// A chosenVisibility is what the user of a device chose.
type chosenVisibility struct {
	*presence.Visibility
	shown bool // in Views, in place of what the store has
	told  bool // a diff has replaced it, which is not published yet
	kept  bool // it is from before a loss of data, or before the devices were read: the Directory is to be asked
}

// shownChoices are what users of devices chose, where the store has something else.
type shownChoices map[presence.UserID]chosenVisibility

func (c *shownChoices) set(id presence.UserID, v chosenVisibility) {
	if *c == nil {
		*c = make(shownChoices)
	}
	(*c)[id] = v
}

// choose takes what the user of a device chose at left.LastSeen. If the store has lost the device, that
// is published now. If fewer viewers may see the user then, and the store does not report that within
// hidesWithin, Views show it before the store does: it may be out.
//
// The roster stays as the store has it, so that check sees what is still to be written.
func (r *replica) choose(left backend.Departure, v *presence.Visibility) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() {
		return
	}
	id, p := left.ID, &r.provisional
	listed, was := r.ledger.get(id), p.chosen[id]
	m, missing := p.missing[id]
	switch {
	case listed == nil: // by a diff that is not published yet
		p.chosen.forget(id)
	case listed.Visibility.Equal(v):
		delete(p.chosen, id)
	case missing:
		r.publishPendingLocked()
		delete(p.chosen, id)
		m.entry = m.entry.seenAs(v)
		p.missing[id] = m
		r.decideLocked(net{joins: []*entry{m.entry}})
	default:
		p.chosen.set(id, chosenVisibility{Visibility: v, shown: was.shown})
		if !was.shown && v.Narrows(listed.visibility()) {
			time.AfterFunc(hidesWithin, func() { r.narrow(left, v) })
		}
	}
	if was.shown && listed != nil {
		r.showChosenLocked(net{silent: []*entry{listed}})
	}
}

// narrow shows a choice that the store has not reported.
func (r *replica) narrow(left backend.Departure, v *presence.Visibility) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, chosen := r.ledger.get(left.ID), r.provisional.chosen[left.ID]
	if !chosen.Equal(v) || e == nil || r.closed {
		return
	}
	chosen.shown = true
	r.provisional.chosen[left.ID] = chosen
	n := net{silent: []*entry{e}}
	if v.Status == presence.Invisible {
		n.vanished = []backend.Departure{left}
	}
	r.showChosenLocked(n)
}

// showChosenLocked makes a new View after what it shows of some devices has changed.
func (r *replica) showChosenLocked(n net) {
	r.publishPendingLocked()
	r.renewViewLocked()
	if r.heard != nil {
		r.heard(&n)
	}
}

// keep is for a device that a store which lost data shows as e. If fewer viewers saw it before, Views still show
// that, until a diff or the Directory says what the user chose.
//
// Example: Bob hides at 12:00:05. Redis starts again with a file of 12:00:00. A node that has read it must not show Bob
// until his node has written once more that he hid.
func (c *shownChoices) keep(was, e *entry) {
	var v *presence.Visibility
	if was != nil {
		v = was.Visibility
	}
	if chosen, chose := (*c)[e.ID]; chose {
		v = chosen.Visibility
	}
	if v == nil || !v.Narrows(e.visibility()) {
		delete(*c, e.ID)
		return
	}
	c.set(e.ID, chosenVisibility{Visibility: v, shown: true, kept: true})
}

// takeKept returns the devices of whose users the Directory is to be asked, once.
func (r *replica) takeKept() (kept []presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, chosen := range r.provisional.chosen {
		if chosen.kept {
			chosen.kept = false
			r.provisional.chosen[id], kept = chosen, append(kept, id)
		}
	}
	return kept
}

// forget forgets a choice that a diff replaces. Views show it until the diff is published.
func (c shownChoices) forget(id presence.UserID) {
	if chosen := c[id]; chosen.shown {
		chosen.told = true
		c[id] = chosen
	} else {
		delete(c, id)
	}
}

// forgetTold forgets the choices that diffs replaced which are published now. It returns the devices among them that
// are listed: Views show them anew, also where the diffs together changed nothing.
//
// Example: Alice's phone is shown as hidden, by an older choice. It goes and comes back within one merge window.
func (c shownChoices) forgetTold(l *ledger) (shown []*entry) {
	for id, chosen := range c {
		if chosen.told {
			delete(c, id)
			if e := l.get(id); e != nil {
				shown = append(shown, e)
			}
		}
	}
	return shown
}

// shown returns the choices that Views show; nil: none.
func (c shownChoices) shown() (shown map[presence.UserID]*presence.Visibility) {
	for id, chosen := range c {
		if chosen.shown {
			if shown == nil {
				shown = make(map[presence.UserID]*presence.Visibility)
			}
			shown[id] = chosen.Visibility
		}
	}
	return shown
}
