package track

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Many connections are renewed in parts, one after the other, so that joins and leaves need
// not wait behind the heartbeats of all. A few are renewed at once, which is one call of the
// store.
//
// Example: 20,000 users have a page open here, each in two topics. Every 90 s their 40,000
// leases are to be renewed: 2,500 of them each 5.6 s.
//
// Connections with the same topics have their turn in few parts, because heartbeats of one topic
// cost less together: in one part where the topic has few users.
const (
	connectionsPerPart = 500
	mostParts          = 16
	partsOfATopic      = 4
	inOnePart          = 128 // users of a topic, in the fleet
)

// A heartbeat decides when each connection with one interval is renewed: once an interval, and never later.
type heartbeat struct {
	parts int // a power of two; each part has one turn in an interval
	turn  int // the part whose turn it is
}

var turns = maphash.MakeSeed()

// turnOf returns a number from which a connection's turn follows.
func turnOf(id presence.Holder, topics []*reader) uint32 {
	own := maphash.String(turns, string(id))
	if len(topics) < 2 { // for example the site alone, where everybody is
		return uint32(own)
	}
	last := topics[len(topics)-1]
	of := maphash.String(turns, string(last.topic()))
	if roster := rosterOf(last); roster != nil && roster.view.Load().Total <= inOnePart {
		return uint32(of)
	}
	return uint32(of + own%partsOfATopic)
}

// next begins the next turn. connections is how many there are. all is true if all of them must be renewed
// now, because the number of parts changed, and with it the turn of each connection.
func (h *heartbeat) next(connections int) (all bool) {
	was := h.parts
	for h.parts < mostParts && connections > connectionsPerPart*h.parts {
		h.parts *= 2
	}
	for h.parts > 1 && connections < connectionsPerPart*h.parts/4 {
		h.parts /= 2
	}
	if h.parts != was {
		h.turn = 0
		return true
	}
	h.turn = (h.turn + 1) % h.parts
	return false
}

// due reports whether it is a connection's turn.
func (h *heartbeat) due(c *holder) bool {
	return h.parts == 1 || int(c.turn%uint32(h.parts)) == h.turn
}

// heartbeat renews, until ctx ends, the leases of the connections here whose pages need not beat, and whose interval is every.
func (l *leases) heartbeat(ctx context.Context, every time.Duration) {
	h := heartbeat{parts: 1}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		held := l.heldFor(every)
		was := h.parts
		all := h.next(len(held))
		if h.parts != was {
			tick.Reset(every / time.Duration(h.parts))
		}
		for _, c := range held {
			if (all || h.due(c)) && l.renewNow(c) {
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
	return l.renewNow(h)
}

// renewNow renews the leases for a connection, for as long as the latest proof of life of the user's pages here allows.
func (l *leases) renewNow(h *holder) bool {
	if h.conn.Err() != nil {
		return false
	}
	l.eachKeep(h, false, func(topic presence.Topic, keep operation) {
		keep.Kind = backend.OpHeartbeat
		l.writer.put(topic, keep)
	})
	h.renewedNow()
	return true
}

// joined is renewNow for a connection that a page has just joined.
func (l *leases) joined(h *holder) bool {
	if h.conn.Err() != nil {
		return false
	}
	l.eachKeep(h, true, func(topic presence.Topic, keep operation) { l.writer.put(topic, keep) })
	h.renewedNow()
	return true
}

// eachKeep calls each, with users.mu held, with the operation that keeps the user of a connection or visit in each topic. joined
// says that a page has just joined it.
func (l *leases) eachKeep(h *holder, joined bool, each func(presence.Topic, operation)) {
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	if joined {
		l.users.joinedHereLocked(h)
	}
	if h.isVisit() {
		h.held.leased = true
	}
	for _, topic := range h.heldTopics() {
		if keep, held := l.users.keepLocked(h, topic); held {
			each(topic, keep)
		}
	}
}

// renewedNow notes that the leases of a connection are renewed, and begins to look whether its page is silent. If the page is silent
// already, its beats may come to other nodes. The leases then last until one more beat could come there.
func (h *holder) renewedNow() {
	h.renewed.Store(time.Now().UnixNano())
	if h.silence == nil {
		return
	}
	left := h.ttl() - time.Since(h.lastProof())
	if left <= 0 {
		left = h.oneMoreBeat()
	}
	h.silence.Reset(left)
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
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	next := time.Duration(0)
	for _, topic := range h.heldTopics() {
		ttl := l.cfg.ttl(topic)
		left := max(ttl-time.Since(proof), h.oneMoreBeat()-sound)
		if left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		if keep, held := l.users.keepLocked(h, topic); held {
			l.writer.put(topic, keep)
		} else {
			l.writer.put(topic, operation{Op: releaseOf(h.member(topic), ownPages, backend.OpRelease, 0), at: proof})
		}
		h.renewed.Store(0)
	}
	if next > 0 {
		h.silence.Reset(next)
	}
}
