package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A chosenVisibility is what the user of a device chose.
type chosenVisibility struct {
	*presence.Visibility
	shown bool // in Views, in place of what the store has
	told  bool // a diff has replaced it, which is not published yet
}

// choose takes what the user of a device chose at left.LastSeen. If the store has lost the device, that
// is published now. If fewer viewers may see the user then, and the store does not report that within
// hidesWithin, Views show it before the store does: it may be out.
//
// The roster stays as the store has it, so that check sees what is still to be written.
func (r *replica) choose(left backend.Departure, v *presence.Visibility) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() || r.ledger.partial() {
		return
	}
	id, p := left.ID, &r.provisional
	listed, was := r.ledger.get(id), p.chosen[id]
	m, missing := p.missing[id]
	switch {
	case listed == nil || listed.Visibility.Equal(v):
		delete(p.chosen, id)
	case missing:
		r.publishPendingLocked()
		delete(p.chosen, id)
		m.entry = m.entry.seenAs(v)
		p.missing[id] = m
		r.decideLocked(net{joins: []*entry{m.entry}})
	default:
		if p.chosen == nil {
			p.chosen = make(map[presence.UserID]chosenVisibility)
		}
		p.chosen[id] = chosenVisibility{Visibility: v, shown: was.shown}
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

// forgetChosen forgets a choice that a diff replaces. Views show it until the diff is published.
func (p *provisional) forgetChosen(id presence.UserID) {
	if chosen := p.chosen[id]; chosen.shown {
		chosen.told = true
		p.chosen[id] = chosen
	} else {
		delete(p.chosen, id)
	}
}

// forgetTold forgets the choices that diffs replaced which are published now.
func (p *provisional) forgetTold() {
	for id, chosen := range p.chosen {
		if chosen.told {
			delete(p.chosen, id)
		}
	}
}

// shown returns the choices that Views show; nil: none.
func (p *provisional) shown() (shown map[presence.UserID]*presence.Visibility) {
	for id, chosen := range p.chosen {
		if chosen.shown {
			if shown == nil {
				shown = make(map[presence.UserID]*presence.Visibility)
			}
			shown[id] = chosen.Visibility
		}
	}
	return shown
}
