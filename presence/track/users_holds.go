package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What this node holds of a user in a topic is one lease in the store, however many pages are open here. It is derived from
// these pages, and written whole. A second lease holds the users of visits: it does not hang on this process.

// leaseHolder returns the holder of the lease for a connection or visit.
func leaseHolder(h *holder) presence.Holder {
	if h.isVisit() {
		return visitors
	}
	return ownPages
}

// keepLocked returns the operation that says what this node holds of a member of a topic by connections, or by visits. It
// returns false if no page here holds the member, except silent ones.
func (p *users) keepLocked(like *holder, topic presence.Topic) (keep operation, held bool) {
	member := like.member(topic)
	keep.Op = backend.Op{Kind: backend.OpKeep, User: presence.User{ID: member}, Holder: leaseHolder(like)}
	u := p.byID[like.visitor.User.ID]
	if u == nil {
		return keep, false
	}
	keep.Idle = u.idle
	var proof time.Time
	for _, h := range u.connections {
		if h.isVisit() != like.isVisit() || !h.heldIn(topic) || h.member(topic) != member || h.silentInLocked(topic) {
			continue
		}
		held = true
		keep.at, proof = later(keep.at, h.held.opened), later(proof, h.lastProof())
		if !h.isVisit() {
			keep.Pages++
		}
	}
	keep.For = p.lengthOf(like, topic) - time.Since(proof).Truncate(p.cfg.ttl(topic)/32) // a store handles keeps of equal length together
	return keep, held
}

// lengthOf returns how long the lease of a connection or visit in a topic lasts after a proof of life.
func (p *users) lengthOf(h *holder, topic presence.Topic) time.Duration {
	if h.isVisit() {
		return p.cfg.ttl(topic)
	}
	return leaseFor(p.cfg.ttl(topic))
}

// leasesLocked calls each with one holder for each lease of a user here, and the topic of the lease.
func (p *users) leasesLocked(u *knownUser, each func(*holder, presence.Topic)) {
	type lease struct {
		topic  presence.Topic
		member presence.UserID
		holder presence.Holder
	}
	done := make(map[lease]bool)
	for _, h := range u.connections {
		if !h.held.leased {
			continue
		}
		for _, topic := range h.heldTopics() {
			of := lease{topic, h.member(topic), leaseHolder(h)}
			if !done[of] {
				done[of] = true
				each(h, topic)
			}
		}
	}
}

// holderOf returns a connection of this node that holds a member of a topic; nil if there is none.
func (p *users) holderOf(topic presence.Topic, member presence.UserID) *holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.byID[ownerIn(topic, member)]
	if u == nil {
		return nil
	}
	for _, h := range u.connections {
		if !h.isVisit() && h.heldIn(topic) && h.member(topic) == member {
			return h
		}
	}
	return nil
}
