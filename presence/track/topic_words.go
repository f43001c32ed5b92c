package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A chosenWord is what the user of a device chose.
type chosenWord struct {
	presence.Status
	shown bool // in Views, in place of what the store has
	told  bool // a diff has replaced it, which is not published yet
}

// reword has a device say what its user chose at left.LastSeen. If the store has lost the device, that
// is published now. If fewer viewers may see the user then, and the store does not report that within
// hidesWithin, Views show it before the store does: it may be out.
//
// The roster stays as the store has it, so that check sees what is still to be written.
func (r *replica) reword(left backend.Departure, status presence.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() || r.ledger.partial() {
		return
	}
	id, p := left.ID, &r.provisional
	listed, was := r.ledger.get(id), p.words[id]
	m, missing := p.missing[id]
	switch {
	case listed == nil || listed.Status == status:
		delete(p.words, id)
	case missing:
		r.publishPendingLocked()
		delete(p.words, id)
		m.entry = m.entry.saying(status)
		p.missing[id] = m
		r.decideLocked(net{joins: []*entry{m.entry}})
	default:
		if p.words == nil {
			p.words = make(map[presence.UserID]chosenWord)
		}
		p.words[id] = chosenWord{Status: status, shown: was.shown}
		if !was.shown && readWord(status).narrows(readWord(listed.Status)) {
			time.AfterFunc(hidesWithin, func() { r.narrow(left, status) })
		}
	}
	if was.shown && listed != nil {
		r.showWordsLocked(net{silent: []*entry{listed}})
	}
}

// narrow shows a word that the store has not reported.
func (r *replica) narrow(left backend.Departure, status presence.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, word := r.ledger.get(left.ID), r.provisional.words[left.ID]
	if word.Status != status || e == nil || r.closed {
		return
	}
	word.shown = true
	r.provisional.words[left.ID] = word
	n := net{silent: []*entry{e}}
	if readWord(status).status == presence.Invisible {
		n.vanished = []backend.Departure{left}
	}
	r.showWordsLocked(n)
}

// showWordsLocked makes a new View after the words of some devices have changed.
func (r *replica) showWordsLocked(n net) {
	r.publishPendingLocked()
	r.renewViewLocked()
	if r.heard != nil {
		r.heard(&n)
	}
}

// forgetWord forgets a word that a diff replaces. Views show it until the diff is published.
func (p *provisional) forgetWord(id presence.UserID) {
	if word := p.words[id]; word.shown {
		word.told = true
		p.words[id] = word
	} else {
		delete(p.words, id)
	}
}

// forgetTold forgets the words that diffs replaced which are published now.
func (p *provisional) forgetTold() {
	for id, word := range p.words {
		if word.told {
			delete(p.words, id)
		}
	}
}

// shown returns the words that Views show; nil: none.
func (p *provisional) shown() (shown map[presence.UserID]presence.Status) {
	for id, word := range p.words {
		if word.shown {
			if shown == nil {
				shown = make(map[presence.UserID]presence.Status)
			}
			shown[id] = word.Status
		}
	}
	return shown
}
