package track

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What a topic shows of users who hid, or who chose who sees them, before the store reports it. It is derived from what
// this node knows of the users, whenever that or the roster changes:
//   - A user who hides is not listed: if the store lists the user, the user is withheld. Whoever is listed as the
//     node learns of it stays for hidesWithin, in which a store that works reports the leave.
//   - A device stays listed. Views show it as its user chose, if the store still lets more viewers see it.
//
// Example: node b, which has Alice's page of thread:1, stands still. She hides at node a, where nobody reads thread:1.
// The next reader of it there does not see her, and the next reader of people does not see her phone.

// hidesWithin is the longest time for which a user who became invisible is still listed.
const hidesWithin = 200 * time.Millisecond

// hides reports whether this node knows that the user of a member hides. A device is listed all the same.
func (r *replica) hides(member presence.UserID) bool {
	c, _ := r.records.last(member)
	return r.out.topic != backend.DevicesTopic && c.hides()
}

// isOut reports whether this node knows that a member hides, or has signed out since it came. A sign-out counts until
// the leases of before it have been swept: a failover may have taken it back, and the user may have come again.
func (r *replica) isOut(e *entry) bool {
	out := r.records.outAt(r.out.topic, e.ID)
	return r.hides(e.ID) || out.After(e.Since) && time.Since(later(out, r.outage.lastEnd())) < r.oldFor()
}

// learned shows what a user chose.
func (r *replica) learned(user presence.UserID) {
	members := []presence.UserID{user}
	if r.out.topic == backend.DevicesTopic {
		members = r.devicesOf(user)
	}
	for _, id := range members {
		if r.conceals(id) {
			time.AfterFunc(hidesWithin, func() { r.show(id) })
		} else {
			r.show(id)
		}
	}
}

// devicesOf returns the devices of a user in backend.DevicesTopic.
func (r *replica) devicesOf(user presence.UserID) (members []presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledger.loaded() {
		r.ledger.roster.devicesOf(user, func(e *entry) bool {
			members = append(members, e.ID)
			return true
		})
	}
	return members
}

// conceals reports whether readers still see more of a member than the user chose, while the store has the member: then
// the store is about to report the choice.
func (r *replica) conceals(id presence.UserID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.provisional
	if _, missing := p.missing[id]; missing || !r.ledger.loaded() {
		return false
	}
	if r.out.topic != backend.DevicesTopic {
		return r.hides(id) && r.ledger.get(id) != nil
	}
	e := r.ledger.roster.get(id)
	return e != nil && p.narrowed[id] == nil && r.narrower(e) != nil
}

// show makes readers see a member as this node knows the user.
func (r *replica) show(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() {
		return
	}
	_, missing := r.provisional.missing[id]
	switch e := r.ledger.get(id); {
	case missing && r.isOut(e):
		r.leaveMissingLocked(id)
	case r.out.topic == backend.DevicesTopic:
		r.narrowLocked(id)
	case e != nil && r.hides(id):
		r.publishPendingLocked()
		r.withhold(e)
		r.decideLocked(net{leaves: []backend.Departure{r.hiding(id)}})
	case !r.hides(id):
		r.admitLocked(id)
	}
}

// hiding returns the leave of a user who hides.
func (r *replica) hiding(id presence.UserID) backend.Departure {
	c, _ := r.records.last(id)
	if c.Unseen() {
		return backend.Departure{ID: id}
	}
	return backend.Departure{ID: id, LastSeen: cmp.Or(c.at, time.Now())}
}

// withoutHidden returns a diff without those who hide and are not listed. They are withheld.
func (r *replica) withoutHidden(d backend.Diff) backend.Diff {
	kept := func(m presence.Member) bool { return r.hides(m.ID) && r.ledger.get(m.ID) == nil }
	for _, users := range []*[]presence.Member{&d.Joins, &d.Updates} {
		if !slices.ContainsFunc(*users, kept) {
			continue
		}
		for _, m := range *users {
			if kept(m) {
				r.withhold(newEntry(m))
				r.provisional.kept = true
			}
		}
		*users = slices.DeleteFunc(slices.Clone(*users), kept)
	}
	return d
}

// withhold notes that the roster here is not to have a member of the store's.
func (r *replica) withhold(e *entry) {
	p := &r.provisional
	if !p.open() {
		r.settleAfter(r.settleFor())
	}
	if p.withheld == nil {
		p.withheld = make(map[presence.UserID]*entry)
	}
	p.withheld[e.ID], p.active, p.latest = e, true, time.Now()
}

// withholdAll withholds those who hide in a roster that was just read. Nobody reads it yet.
func (r *replica) withholdAll() {
	r.ledger.roster.bySince.Scan(func(e *entry) bool {
		if r.hides(e.ID) {
			r.withhold(e)
		}
		return true
	})
	if r.provisional.open() {
		r.provisional.overlay(r.ledger.roster)
		r.ledger.addLocal(r.provisional.nextVersion(r.ledger.head, r.cfg.Node))
		r.cursor = presence.NewCursor(r.out.topic, r.ledger.version())
	}
}

// withheldMembers returns the members that the store has and the roster here has not.
func (r *replica) withheldMembers() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.provisional.withheld))
}

// missingMembers returns the members that the roster here has and the store has not.
func (r *replica) missingMembers() []presence.UserID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.provisional.missing))
}

// withholds reports whether a member is withheld.
func (r *replica) withholds(id presence.UserID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.provisional.withheld[id] != nil
}

// admit lists a withheld member: this node holds the user.
func (r *replica) admit(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admitLocked(id)
}

// admitLocked lists a withheld member. A user who hid comes as others do: at the moment of the choice to show.
func (r *replica) admitLocked(id presence.UserID) {
	if e := r.provisional.withheld[id]; e != nil && !r.closed {
		chosen, _ := r.records.last(id)
		m := e.Member
		m.Since = later(m.Since, chosen.shown)
		r.publishPendingLocked()
		r.provisional.forget(id)
		r.decideLocked(net{joins: []*entry{newEntry(m)}})
	}
}

// narrower returns what Views show of a device in place of what the store has; nil: nothing. While this node does not
// know what the user chose, that stays as it was: see unsure.
//
// Example: Bob hides at 12:00:05. Redis starts again with a file of 12:00:00. A node that has read it must not show Bob
// until his node has written once more that he hid.
func (r *replica) narrower(e *entry) *presence.Visibility {
	stored, owner := e.visibility(), ownerIn(r.out.topic, e.ID)
	v := r.records.visibilityOf(owner)
	switch {
	case v == nil:
		v = r.provisional.narrowed[e.ID]
	case v != nil && !v.Since.IsZero() && stored.Since.After(v.Since): // the user shows again, as this node has not heard yet
		return nil
	}
	if v == nil || !v.Narrows(stored) {
		return nil
	}
	return v
}

// setNarrowed notes what Views show of a device, and reports whether that is another look.
func (r *replica) setNarrowed(e *entry) (changed bool) {
	v, was := r.narrower(e), r.provisional.narrowed[e.ID]
	r.provisional.narrow(e.ID, v)
	return !was.Equal(v)
}

// narrow makes Views show a device by a Visibility, or if that is nil as the store has it.
func (p *provisional) narrow(id presence.UserID, v *presence.Visibility) {
	if delete(p.narrowed, id); v == nil {
		return
	}
	if p.narrowed == nil {
		p.narrowed = make(map[presence.UserID]*presence.Visibility)
	}
	p.narrowed[id] = v
}

// narrowAll is setNarrowed for each device of a roster that was read from the store.
func (r *replica) narrowAll() {
	if r.out.topic == backend.DevicesTopic {
		r.ledger.roster.byID.Scan(func(e *entry) bool {
			r.setNarrowed(e)
			return true
		})
	}
}

// narrowLocked makes Views show a device as its user chose.
func (r *replica) narrowLocked(id presence.UserID) {
	was := r.provisional.narrowed[id]
	if e := r.ledger.roster.get(id); e == nil || r.narrower(e).Equal(was) {
		return
	}
	r.publishPendingLocked()
	e := r.ledger.roster.get(id)
	if e == nil || !r.setNarrowed(e) {
		return
	}
	n := net{silent: []*entry{e}}
	shown, now := cmp.Or(was, e.Visibility), r.provisional.narrowed[id]
	if now != nil && now.Status == presence.Invisible && (shown == nil || shown.Status != presence.Invisible) {
		c, _ := r.records.last(ownerIn(r.out.topic, id))
		n.vanished = []backend.Departure{{ID: id, LastSeen: c.at}}
	}
	r.renewViewLocked()
	if r.heard != nil {
		r.heard(&n)
	}
}

// narrowChanged is setNarrowed for the devices in changes that are published now.
func (r *replica) narrowChanged(n net) {
	if r.out.topic != backend.DevicesTopic {
		return
	}
	for _, entries := range [][]*entry{n.joins, n.silent} {
		for _, e := range entries {
			r.setNarrowed(e)
		}
	}
	for _, l := range n.leaves {
		delete(r.provisional.narrowed, l.ID)
	}
}

// unsure returns the users whom readers see otherwise than the store has them, by a choice that is unsure.
func (r *replica) unsure() (users []presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add := func(member presence.UserID, hides bool) {
		user := ownerIn(r.out.topic, member)
		if _, known := r.records.choice(user); hides && !known {
			users = append(users, user)
		}
	}
	for id := range r.provisional.narrowed {
		add(id, true)
	}
	for id := range r.provisional.withheld {
		add(id, r.hides(id))
	}
	return users
}
