package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What a topic shows of users who hid, or who chose who sees them, before the store reports it. It is derived from what
// this node knows of the users, whenever that or the roster changes:
//   - A user who hides is not listed. Whoever is listed as the node learns of it stays for hidesWithin, in which a store
//     that works reports the leave.
//   - A device stays listed, as its user chose, if the store still lets more viewers see it.
//
// Example: node b, which has Alice's page of thread:1, stands still. She hides at node a, where nobody reads thread:1.
// The next reader of it there does not see her, and the next reader of people does not see her phone.

// hidesWithin is the longest time for which a user who became invisible is still listed.
const hidesWithin = 200 * time.Millisecond

// signedOut reports whether this node knows that a member has signed out since it came. That counts until
// the leases of before it have been swept: a failover may have taken it back, and the user may have come again.
func (r *replica) signedOut(e *entry) bool {
	out := r.records.outAt(r.out.topic, e.ID)
	return out.After(e.Since) && time.Since(later(out, r.outage.lastEnd())) < r.oldFor()
}

// narrowed returns what readers see of an entry: of a device what its user chose, if that lets fewer viewers see it.
// While this node does not know what the user chose, that stays as it was: see choices.tend.
//
// Example: Bob hides at 12:00:05. Redis starts again with a file of 12:00:00. A node that has read it must not show Bob
// until his node has written once more that he hid.
func (r *replica) narrowed(e *entry, a apart, shown *entry) *entry {
	if r.out.topic != backend.DevicesTopic {
		return e
	}
	stored, v := e.visibility(), r.records.visibilityOf(ownerIn(r.out.topic, e.ID))
	switch {
	case v == nil && shown != nil && !a.since.IsZero():
		v = shown.Visibility
	case v != nil && !v.Since.IsZero() && stored.Since.After(v.Since): // the user shows again, as this node has not heard yet
		return e
	}
	if v == nil || !v.Narrows(stored) {
		return e
	}
	m, now := e.Member, *v
	now.Status, _ = shownIdle(v.Status, stored.Status == presence.Idle)
	if m.Visibility = &now; shown != nil && shown.Same(m) && shown.Since.Equal(m.Since) {
		return shown
	}
	return newEntry(m)
}

// learned shows what a user chose: later if readers see what the store has, since that is about to report the choice.
func (r *replica) learned(user presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() {
		return
	}
	members := []presence.UserID{user}
	if r.out.topic == backend.DevicesTopic {
		members = nil
		r.ledger.roster.devicesOf(user, func(e *entry) bool {
			members = append(members, e.ID)
			return true
		})
		for id := range r.ledger.pending {
			if owner, _ := backend.OwnerOf(id); owner == user {
				members = append(members, id)
			}
		}
	}
	for _, id := range members {
		if _, is := r.ledger.apart[id]; is {
			r.lookLocked(id)
		} else if e := r.ledger.get(id); e != nil && r.seen(id, apart{stored: e}, e) != e {
			time.AfterFunc(hidesWithin, func() { r.look(id) })
		}
	}
}

// someApart returns up to most members whom readers see otherwise than the store has them.
func (r *replica) someApart(most int) map[presence.UserID]apart {
	r.mu.Lock()
	defer r.mu.Unlock()
	some := make(map[presence.UserID]apart)
	for id, a := range r.ledger.apart { // in another order each time
		if len(some) == most {
			break
		}
		some[id] = a
	}
	return some
}

// keptOut returns the devices of a user that the store has, and readers do not see as it has them.
func (r *replica) keptOut(user presence.UserID) (members []presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, a := range r.ledger.apart {
		if owner, _ := backend.OwnerOf(id); owner == user && a.stored != nil {
			members = append(members, id)
		}
	}
	return members
}

// apartOf returns how readers see a member otherwise than the store has it; zero: they do not.
func (r *replica) apartOf(id presence.UserID) apart {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.apart[id]
}

// admit lists a member of the store's: this node holds the user.
func (r *replica) admit(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.ledger.apart[id]; a.stored != nil && !r.closed {
		a.stands = false
		r.ledger.apart[id] = a
		r.lookLocked(id)
	}
}
