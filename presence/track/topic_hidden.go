package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// hidesWithin is how long a user is listed at most who became invisible. A store that works
// reports the leave before.
const hidesWithin = 200 * time.Millisecond

// expectHidden is expectLeave for a user who became invisible. left is the leave to publish if the
// store reports none.
func (r *replica) expectHidden(left backend.Departure) {
	r.expectLeave(left.ID)
	if view := r.view.Load(); view != nil && view.roster.get(left.ID) != nil {
		time.AfterFunc(hidesWithin, func() { r.hide(left) })
	}
}

// hide removes a user who became invisible, and whose leave the store has not reported: it may have
// lost the user, its diffs may be late, or nobody may have written the choice yet.
func (r *replica) hide(left backend.Departure) {
	id := left.ID
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, leaving := r.provisional.leaving[id]; !leaving || r.closed || r.ledger.partial() {
		return
	}
	r.publishPendingLocked()
	delete(r.provisional.leaving, id)
	if e := r.ledger.get(id); e != nil {
		r.withholdLocked(e, left)
	}
}

// withholdLocked takes a listed user off the roster, as a revived one.
func (r *replica) withholdLocked(e *entry, left backend.Departure) {
	p := &r.provisional
	if !p.open() {
		p.after(admitFor(r.kind.TTL), r.expireProvisional)
	}
	p.postpone(r.kind.TTL)
	if p.revived == nil {
		p.revived = make(map[presence.UserID]*entry)
	}
	p.revived[e.ID], p.active = e, true
	r.decideLocked(net{leaves: []backend.Departure{left}})
}

// hiddenIn returns those whom a store's roster shows although this node knows that they became
// invisible: the node that holds them has not written it yet.
//
// Example: node b, which has Alice's page of thread:1, stands still. She hides at node a, where nobody
// reads thread:1. The next reader of it there does not see her.
func (r *replica) hiddenIn(stored roster) (hidden []*entry) {
	if r.hides == nil || r.out.topic.Reserved() {
		return nil
	}
	stored.bySince.Scan(func(e *entry) bool {
		if r.hides(e.ID) {
			hidden = append(hidden, e)
		}
		return true
	})
	return hidden
}

// hideAtStartLocked takes users off a roster that nobody has read yet.
func (r *replica) hideAtStartLocked(hidden []*entry) {
	for _, e := range hidden {
		if !r.ledger.partial() {
			r.withholdLocked(e, backend.Departure{ID: e.ID})
		}
	}
}

// withholds reports whether a user is revived.
func (r *replica) withholds(id presence.UserID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.provisional.revived[id] != nil
}

// withheldOf returns the devices of a user that are revived.
func (r *replica) withheldOf(user presence.UserID) (devices []presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.provisional.revived {
		if owner, _ := backend.OwnerOf(id); owner == user {
			devices = append(devices, id)
		}
	}
	return devices
}

// cancelHidden undoes expectHidden: the user is visible again.
func (r *replica) cancelHidden(id presence.UserID) {
	r.mu.Lock()
	delete(r.provisional.leaving, id)
	r.mu.Unlock()
	r.admit(id)
}
