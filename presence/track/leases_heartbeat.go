package track

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Connections are renewed in parts, one after the other, so that joins and leaves need
// not wait behind the heartbeats of all.
//
// Example: 20,000 users have a page open here, each in two topics. Every 90 s their 40,000
// leases are to be renewed: 2,500 of them each 5.6 s.
//
// Connections with the same topics have their turn in few parts, because heartbeats of one topic
// cost less together: in one part where the topic has few users.
const (
	renewalParts  = 16
	partsOfATopic = 4
	inOnePart     = 128 // users of a topic, in the fleet
)

var turns = maphash.MakeSeed()

// turnOf returns in which part a connection is renewed.
func turnOf(id presence.Holder, topics []*reader) uint8 {
	own := maphash.String(turns, string(id))
	if len(topics) < 2 { // for example the site alone, where everybody is
		return uint8(own % renewalParts)
	}
	last := topics[len(topics)-1]
	of := maphash.String(turns, string(last.topic()))
	if roster := rosterOf(last); roster == nil || roster.view.Load().Total > inOnePart {
		of += own % partsOfATopic
	}
	return uint8(of % renewalParts)
}

// heartbeat renews, until ctx ends, the leases of the connections here whose pages need not beat, and whose interval is every.
func (l *leases) heartbeat(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every / renewalParts)
	defer tick.Stop()
	for turn := uint8(0); ; turn = (turn + 1) % renewalParts {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, c := range l.heldFor(every) {
			if c.turn == turn && l.renewNow(c, toBeat) {
				l.stats.beatsByStream.Add(1)
			}
		}
	}
}

// heldFor returns the connections here that hold a user, that need no beats of their page, and whose interval is every.
func (l *leases) heldFor(every time.Duration) []*holder {
	return slices.DeleteFunc(l.users.all(), func(c *holder) bool { return c.beat.Load() || !c.holds() || renewEvery(c.ttl()) != every })
}

// renew renews the leases for a connection, whose page has just proved that it is alive, if that is due.
func (l *leases) renew(h *holder) bool {
	if time.Since(time.Unix(0, h.renewed.Load())) < renewEvery(h.ttl()) {
		return h.conn.Err() == nil
	}
	return l.renewNow(h, toBeat)
}

// renewNow renews the leases for a connection, for as long as the latest proof of life of the user's pages here allows.
func (l *leases) renewNow(h *holder, need need) bool {
	if h.conn.Err() != nil {
		return false
	}
	l.put(h, need)
	h.renewedNow()
	return true
}

// joined is renewNow for a connection that a page has just joined.
func (l *leases) joined(h *holder) bool {
	l.users.joinedHere(h)
	return l.renewNow(h, toKeep)
}

// put notes what is to be written of the leases for a connection or visit.
func (l *leases) put(h *holder, need need) {
	for _, topic := range h.heldTopics() {
		l.writer.put(topic, cellOf(h, topic, leaseCell{need: need}))
	}
}

// renewedNow notes that the leases of a connection are renewed, and begins to look whether its page is silent. If the page is silent
// already, its beats may come to other nodes. Leases that are made of it then last until one more beat could come there, and the
// next beat that comes here is written.
func (h *holder) renewedNow() {
	now := time.Now()
	if h.silence != nil {
		left := h.ttl() - now.Sub(h.lastProof())
		if left <= 0 {
			left, now = h.oneMoreBeat(), time.Unix(0, 0)
		}
		h.silence.Reset(left)
	}
	h.renewed.Store(now.UnixNano())
}

// oneMoreBeat is the time in which a page beats once more, even if the store or a node was out.
func (h *holder) oneMoreBeat() time.Duration {
	heartbeat, _ := h.timing()
	return min(h.ttl(), heartbeat+catchUpLongest)
}

// silent ends the lease in each topic where the page of a connection has been silent for the TTL, unless another page here
// holds the user there. The user was last seen at the latest beat. If the store had trouble, the lease lasts until one more beat
// could come: the page may have beaten at other nodes, which could not write that.
func (l *leases) silent(h *holder) {
	if h.conn.Err() != nil {
		return
	}
	proof, sound := h.lastProof(), l.outage.soundFor()
	next := time.Duration(0)
	for _, topic := range h.heldTopics() {
		left := max(l.cfg.ttl(topic)-time.Since(proof), h.oneMoreBeat()-sound)
		if left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		l.writer.put(topic, cellOf(h, topic, leaseCell{end: &leaseEnd{at: proof, proof: proof, how: leaving}}))
		h.renewed.Store(0)
	}
	if next > 0 {
		h.silence.Reset(next)
	}
}
