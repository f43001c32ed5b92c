package track

import (
	"bytes"
	"maps"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What each part of a node does to forget an erased user: see eraser.

// ids returns the users whom this node knows. Some are in it twice.
func (p *users) ids() []presence.UserID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Keys(p.records.all())), maps.Keys(p.byID))
}

// forgetUser forgets a user who has no connection here. If there is a connection, the user has come back.
func (p *users) forgetUser(e backend.Erasure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byID[e.User]; u != nil && len(u.connections) == 0 {
		p.forgetLocked(u)
	}
	p.records.forget(e)
}

func (l *lastSeen) forget(user presence.UserID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.Delete(user)
}

// forget drops the notices about a user that may be sent again.
func (b *notices) forget(e backend.Erasure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, same := range []map[backend.Notice]*published{b.lasting, b.moment} {
		for key, p := range same {
			if e.NamesNotice(p.notice) {
				delete(same, key)
			}
		}
	}
}

// forget drops the acts that name a user.
func (s *acts) forget(e backend.Erasure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = slices.DeleteFunc(s.heard, func(a heardAct) bool { return a.User == e.User || a.By == e.User })
}

// forget drops the history and the events of a topic that name a user. A reader who has not read them yet, or
// who resumes, gets a state.
func (r *replica) forget(e backend.Erasure) {
	if !e.Concerns(r.out.topic) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ledger.loaded() {
		return
	}
	defer func() { r.windows.forget(r.published()) }() // the windows may have an older View
	if !r.ledger.history.names(e) && !r.out.log.has(string(e.User.Local())) {
		return
	}
	r.publishPendingLocked()
	r.ledger.history.drop(r.ledger.published)
	r.resumed = nil
	if n := len(r.out.log.frames); n > 0 {
		r.out.log.drop(n)
		r.out.log.frames, r.out.log.encoded, r.out.log.bytes = nil, nil, 0
	}
}

// names reports whether a version contains the user.
func (h *history) names(e backend.Erasure) bool {
	for _, v := range h.versions {
		if slices.ContainsFunc(v.changes, func(c rosterChange) bool { return e.Names(c.id) }) {
			return true
		}
	}
	return false
}

// drop forgets all versions up to a position.
func (h *history) drop(to int) {
	for _, v := range h.versions[:to-h.dropped] {
		delete(h.index, h.base)
		h.base = v.id
		h.changes -= len(v.changes)
	}
	h.versions = slices.Delete(h.versions, 0, to-h.dropped)
	h.dropped = to
}

// has reports whether an event contains a text.
func (l *frameLog) has(text string) bool {
	return slices.ContainsFunc(l.frames, func(f frame) bool { return bytes.Contains(f.Data, []byte(text)) })
}
