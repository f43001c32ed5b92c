package track

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// open adds a connection. It returns [presence.ErrClosed], [presence.ErrSignedOut] if its user signed out since the
// visitor was identified, or [presence.ErrTooManyConnections] if the user has as many as
// Config.MaxConnectionsPerUser allows.
func (p *users) open(c *holder, g *wakeSet) (ofUser int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, presence.ErrClosed
	}
	if c.visitor.SignedIn() {
		u := p.knownLocked(c.visitor.User.ID)
		if p.records.visitorEndedAt(c.visitor).After(c.held.identified) {
			return 0, presence.ErrSignedOut
		}
		if ofUser = u.pages() + 1; p.cfg.MaxConnectionsPerUser > 0 && ofUser > p.cfg.MaxConnectionsPerUser {
			return 0, presence.ErrTooManyConnections
		}
		p.addLocked(u, c)
	}
	p.connections[c.id] = c
	if g := c.visitor.Guest; c.isGuest() {
		p.guests[g] = append(p.guests[g], c)
		if c.guest.id = g; c.isPassing() {
			p.enterPassingLocked(c)
		}
	}
	for _, s := range c.topics() {
		s.from.outlet().attach(s, g)
	}
	return ofUser, nil
}

// remove removes a connection, and remembers that it held its user in topics until now.
func (p *users) remove(c *holder, topics []presence.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.connections, c.id)
	if c.isGuest() && !c.isPassing() {
		p.removeGuestLocked(c)
	}
	if !c.visitor.SignedIn() {
		return
	}
	p.dropLocked(c, topics)
}

// addLocked adds a connection or visit to those of its user.
func (p *users) addLocked(u *knownUser, h *holder) {
	if len(u.connections) == 0 {
		p.away.Remove(u.place)
		u.place = nil
	}
	u.connections = append(u.connections, h)
}

// dropLocked removes a connection or visit from those of its user, whom it held in topics until now.
func (p *users) dropLocked(h *holder, topics []presence.Topic) {
	u := p.knownLocked(h.visitor.User.ID)
	u.connections = slices.DeleteFunc(u.connections, func(c *holder) bool { return c == h })
	if len(u.connections) == 0 {
		u.connections = nil
		p.touchLocked(u)
	}
	for _, topic := range topics {
		u.release(topic, p.cfg)
		p.records.endViews(u.id, h.held.opened)
	}
}

// pages returns how many connections of a user are open here.
func (u *knownUser) pages() (n int) {
	for _, h := range u.connections {
		if !h.isVisit() {
			n++
		}
	}
	return n
}

func (p *users) removeGuestLocked(c *holder) {
	g := c.visitor.Guest
	rest := slices.DeleteFunc(p.guests[g], func(other *holder) bool { return other == c })
	if len(rest) == 0 {
		delete(p.guests, g)
		return
	}
	p.guests[g] = rest
}

// removeGuest removes a connection from those of its guest.
func (p *users) removeGuest(c *holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeGuestLocked(c)
}

// connectionsOfGuest returns a guest's open connections.
func (p *users) connectionsOfGuest(guest string) []*holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.guests[guest])
}

// release remembers that a connection, which stays open, held its user in a topic until
// now.
func (p *users) release(c *holder, topic presence.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.knownLocked(c.visitor.User.ID).release(topic, p.cfg)
}

// close makes open fail from now on, and returns the connections that are open.
func (p *users) close() []*holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.connectionsLocked()
}

// all returns every open connection.
func (p *users) all() []*holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connectionsLocked()
}

func (p *users) connectionsLocked() []*holder {
	all := make([]*holder, 0, len(p.connections))
	for _, c := range p.connections {
		all = append(all, c)
	}
	return all
}

// connection returns an open connection by its id, nil if this node does not have it.
func (p *users) connection(id presence.Holder) *holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connections[id]
}

// holds reports whether a connection or visit is open and holds its user in a topic.
func (p *users) holds(h *holder, topic presence.Topic) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return (p.connections[h.id] == h || p.visited[h.id] == h) && h.heldIn(topic)
}

// holdersLocked returns the connections that hold a member of a topic, except those whose pages are silent.
func (p *users) holdersLocked(topic presence.Topic, member presence.UserID) (holders []*holder) {
	u := p.byID[ownerIn(topic, member)]
	if u == nil {
		return nil
	}
	for _, c := range u.connections {
		if c.held.asked != 0 && c.heldIn(topic) && c.member(topic) == member && !c.silentInLocked(topic) {
			holders = append(holders, c)
		}
	}
	return holders
}

// holdsMember reports whether a page here that is not silent holds a member of a topic.
func (p *users) holdsMember(topic presence.Topic, member presence.UserID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.holdersLocked(topic, member)) > 0
}

// asked notes that the leases of a connection or visit are asked for.
func (p *users) asked(h *holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.held.asked == 0 {
		h.held.asked = momentOf(time.Now())
	}
}

// setOpened notes that a connection's leases have just been made. The connection takes the place of page views until
// then (rule 3).
func (p *users) setOpened(c *holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.held.opened = time.Now()
}

// joinedHere notes that a page has just joined a connection, as if the connection had been opened now.
func (p *users) joinedHere(c *holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.held.opened.IsZero() {
		c.held.opened = time.Now()
	}
}

// joinedAnew notes that the pages here that hold a member of a topic join now, where they were opened soon after a sign-out.
func (p *users) joinedAnew(topic presence.Topic, member presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.holdersLocked(topic, member) {
		if !h.held.opened.IsZero() && h.held.opened.Sub(p.records.visitorEndedAt(h.visitor)) < time.Minute {
			h.held.opened = time.Now()
		}
	}
}

// identified returns when a connection's visitor was identified, or when the latest page joined.
func (p *users) identified(c *holder) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.held.identified
}
