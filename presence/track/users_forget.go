package track

import (
	"bytes"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What each part of a node does to forget a user: see eraser.

// ids returns the users whom this node knows.
func (p *users) ids() []presence.UserID {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]presence.UserID, 0, len(p.byID)+p.dormant.Len())
	for id := range p.byID {
		ids = append(ids, id)
	}
	for id := range p.dormant.All() {
		ids = append(ids, id)
	}
	return ids
}

// forgetUser forgets a user who has no connection here. A connection is of a user who came back.
func (p *users) forgetUser(e backend.Erasure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byID[e.User]; u != nil && len(u.connections) == 0 {
		p.forgetLocked(u)
	}
	p.dormant.Delete(e.User)
	var ended []presence.UserID
	for member := range p.endedDevices.All() {
		if e.Names(member) {
			ended = append(ended, member)
		}
	}
	for _, member := range ended {
		p.endedDevices.Delete(member)
	}
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

// forget drops the history and the events of a topic that names a user. A reader who comes back,
// or has not read them yet, gets a state.
func (r *replica) forget(e backend.Erasure) {
	if !e.Concerns(r.out.topic) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ledger.loaded() || !r.ledger.history.names(e) && !r.out.log.has(string(e.User.Local())) {
		return
	}
	r.publishPendingLocked()
	r.ledger.history.drop(r.ledger.published)
	r.resumed = nil
	r.windows.forget(r.published())
	if n := len(r.out.log.frames); n > 0 {
		r.out.log.drop(n)
		r.out.log.frames, r.out.log.encoded, r.out.log.bytes = nil, nil, 0
	}
}

// names reports whether a version holds the user.
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

// has reports whether an event holds a text.
func (l *frameLog) has(text string) bool {
	return slices.ContainsFunc(l.frames, func(f frame) bool { return bytes.Contains(f.Data, []byte(text)) })
}

// forget has each consumer forget a user.
func (d *deliveries) forget(e backend.Erasure) {
	d.mu.Lock()
	running := make([]*consumer, 0, len(d.running))
	for c := range d.running {
		running = append(running, c)
	}
	d.mu.Unlock()
	for _, c := range running {
		c.forget(e)
	}
}

// forget has the goroutine that owns the consumer forget a user.
func (c *consumer) forget(e backend.Erasure) {
	c.erasing.mu.Lock()
	c.erasing.all = append(c.erasing.all, erasedAt{e, time.Now().Add(-e.Ago)})
	c.erasing.mu.Unlock()
	c.woken.Wake()
}

// takeErased returns the users to forget.
func (c *consumer) takeErased() []erasedAt {
	c.erasing.mu.Lock()
	defer c.erasing.mu.Unlock()
	all := c.erasing.all
	c.erasing.all = nil
	return all
}

// An erasedAt is an erasure, and when it was asked for.
type erasedAt struct {
	backend.Erasure
	at time.Time
}

// forgetErased removes erased users from the copies of a node that stands by.
func (c *consumer) forgetErased() {
	for _, e := range c.takeErased() {
		for _, entries := range []map[string]string{c.copy, c.read.entries} {
			for key, value := range entries {
				if e.NamesEntry(key, value) {
					delete(entries, key)
				}
			}
		}
	}
}

// forgetErased removes erased users from the record: who was told of them, and what waits to be
// told. Events that a lane is telling now are the last ones.
func (l *leader) forgetErased() {
	for _, e := range l.takeErased() {
		for _, f := range l.follows {
			if u, told := f.users[e.User]; told && u.since.Before(e.at) {
				delete(f.users, e.User)
				l.changes = append(l.changes, recordChange{key: toldKey(f.topic, e.User), gone: true})
			}
		}
		l.changes = append(l.changes, l.out.forget(e)...)
		l.ended.forget(e.User)
	}
}

// forget drops the events about a user. It returns the changes of the record.
func (o *outbox) forget(e erasedAt) (changes []recordChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var gone []*parcel
	o.all.Scan(func(_ uint64, p *parcel) bool {
		if p.User.ID == e.User && p.Since.Before(e.at) {
			gone = append(gone, p)
		}
		return true
	})
	for _, p := range gone {
		if p.taken {
			p.last = true
			continue
		}
		o.removeLocked(p)
		changes = append(changes, recordChange{key: eventKey(p.number), gone: true})
	}
	o.countLocked()
	return changes
}

func (e *endedSessions) forget(user presence.UserID) {
	for i, s := range e.order {
		if s.user == user {
			delete(e.known, s)
			e.order[i] = endedSession{}
		}
	}
}
