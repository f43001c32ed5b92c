package track

import (
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A passingGuest is a guest whose browser has sent no cookie: see [presence.Visitor]. Each of the streams that a
// client has open at the same time is one. The next stream that the client opens takes the place of one that has
// closed. So a reader without cookies who goes from page to page is one guest.
//
// If the node dies, the guest counts until the store forgets it, for two age periods at most.
type passingGuest struct {
	stream *holder                      // the latest one
	open   bool                         // that stream
	until  map[presence.Topic]time.Time // when the grace ends in topics that a stream has left
}

// enterPassingLocked gives a stream the first id of its client that no open stream has.
func (p *users) enterPassingLocked(h *holder) {
	for i := 0; ; i++ {
		id := h.visitor.Passing + "." + strconv.Itoa(i)
		g := p.passing[id]
		if g == nil {
			g = &passingGuest{until: make(map[presence.Topic]time.Time)}
			p.passing[id] = g
		}
		if !g.open {
			g.stream, g.open, h.guest.id = h, true, id
			return
		}
	}
}

// isPassingAs reports whether no later stream has the id of a passing guest's stream.
func (p *users) isPassingAs(h *holder) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.passing[h.guest.id]
	return g != nil && g.stream == h
}

// leavePassing notes that a passing guest's stream has left topics, where the guest counts for the grace. over says
// whether the stream has closed.
func (p *users) leavePassing(h *holder, over bool, topics []presence.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.passing[h.guest.id]
	for _, topic := range topics {
		g.until[topic] = time.Now().Add(p.cfg.grace(topic))
	}
	if g.open = !over; over && len(g.until) == 0 {
		delete(p.passing, h.guest.id)
	}
}

// endPassing reports whether a passing guest no longer counts in a topic: the grace is over, and no later stream
// is there.
func (p *users) endPassing(id string, topic presence.Topic) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.passing[id]
	if g == nil || time.Now().Before(g.until[topic]) {
		return false
	}
	delete(g.until, topic)
	if !g.open && len(g.until) == 0 {
		delete(p.passing, id)
	}
	return !g.open || !g.stream.enters(topic)
}

// left ends the counting of a passing guest in topics that its stream has left, each after its grace. over says
// whether the stream has closed. When the node closes there is no grace: the page connects to another node.
func (g *guestCounts) left(h *holder, over, closing bool, topics ...presence.Topic) {
	if !h.isPassing() {
		return
	}
	after := func(grace time.Duration, do func()) {
		if closing || grace <= 0 {
			do()
			return
		}
		time.AfterFunc(grace, do)
	}
	g.users.leavePassing(h, over, topics)
	for _, topic := range topics {
		after(g.cfg.grace(topic), func() {
			if closing || g.users.endPassing(h.guest.id, topic) {
				g.forget(topic, h.guest.id)
			}
		})
	}
	if over {
		after(g.cfg.longestGrace(), func() { g.users.removeGuest(h) })
	}
}
