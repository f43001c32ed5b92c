package presence

import (
	"context"
	"time"
)

// join makes the leases of some topics, and waits until they are seen here.
func (c *Connection) join(ctx context.Context, readers ...*reader) {
	if !c.holds() {
		c.countGuest()
		return
	}
	var rosters []*replica
	var topics []Topic
	for _, s := range readers {
		if r := s.roster(); r != nil {
			rosters, topics = append(rosters, r), append(topics, s.topic())
		}
	}
	type joined struct {
		status Status
		acks   []*ack
	}
	made := make(chan joined, 1)
	t := c.tracker
	t.leases.join(c, topics, func(now User, acks []*ack) { made <- joined{now.Status, acks} })
	if t.outage.latestFailed() {
		return
	}
	select {
	case j := <-made:
		if t.await(ctx, j.acks...) != nil || j.status == Invisible {
			return
		}
	case <-ctx.Done():
		return
	case <-t.life.ctx.Done():
		return
	}
	for _, r := range rosters {
		awaitMember(ctx, c, r)
	}
}

// awaitMember waits until a connection's user is in a topic's roster here.
func awaitMember(ctx context.Context, c *Connection, r *replica) {
	user := c.visitor.User.ID
	here := func() bool {
		view := r.view.Load()
		_, ok := view.Member(user) // a truncated state need not hold the user, and no state one who is invisible
		return ok || view.counting || c.tracker.people.chosen(user) == Invisible || c.Err() != nil
	}
	if here() {
		return
	}
	r.admit(user)
	g := newSolo()
	c.setJoining(g)
	defer c.setJoining(nil)
	s := newReader(c, r, "")
	r.out.attach(s, g)
	defer r.out.detach(s)
	for !here() {
		select {
		case <-g.ready:
			s.rearm()
		case <-ctx.Done():
			return
		}
	}
}

func (c *Connection) setJoining(g *Group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joining = g
}

// leaseOf returns the operation that holds the connection's user.
func (c *Connection) leaseOf(user User) Op {
	return Op{Kind: OpJoin, User: user, Holder: c.id, For: c.tracker.cfg.TTL}
}

// release ends the lease in a topic, by OpRelease or OpDrop. After an outage the lease may
// have expired, and an expired lease gets no grace: so it is renewed first.
func (c *Connection) release(topic Topic, kind OpKind) {
	t := c.tracker
	if kind == opGiveUp {
		if t.writer.giveUp(topic, c.leaseOf(c.visitor.User)) {
			return
		}
		kind = OpRelease
	}
	if kind == OpRelease && t.outage.leasesMayHaveExpired() {
		t.choices.resolve(c.visitor.User, func(user User) { t.writer.add(topic, c.leaseOf(user)) })
	}
	t.writer.add(topic, releaseOf(c.visitor.User.ID, c.id, kind, t.cfg.Grace))
}

// countGuest counts a streaming guest in each topic, unless the guest signed in since the
// connection was opened.
func (c *Connection) countGuest() {
	if !c.isGuest() {
		return
	}
	c.mu.Lock() // so that a guest who signs in meanwhile is forgotten behind this
	defer c.mu.Unlock()
	if c.guestSignedIn {
		return
	}
	for _, topic := range c.rosterTopics() {
		c.tracker.leases.seenGuest(topic, c.visitor.Guest)
	}
}

// forgetGuest takes the guest, who signed in, out of each topic. The connection no longer
// counts the guest.
func (c *Connection) forgetGuest() {
	c.mu.Lock()
	c.guestSignedIn = true
	c.mu.Unlock()
	for _, topic := range c.rosterTopics() {
		c.tracker.leases.forgetGuest(topic, c.visitor.Guest)
	}
}

// guestReturned notes that the guest is one again: who signs out may go on with a page, or
// with the stream of another tab, from before the sign-in.
func (c *Connection) guestReturned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guestSignedIn = false
}

// isGuest reports whether the connection is of a guest who counts.
func (c *Connection) isGuest() bool {
	return !c.visitor.SignedIn() && !c.observe && c.visitor.Guest != ""
}

// holds reports whether the connection holds a user online.
func (c *Connection) holds() bool { return c.visitor.SignedIn() && !c.observe }

// heldTopics returns the topics in which the connection holds its user.
func (c *Connection) heldTopics() []Topic {
	if !c.holds() {
		return nil
	}
	return c.rosterTopics()
}

// rosterTopics returns the topics of the connection that are rosters.
func (c *Connection) rosterTopics() []Topic {
	readers := c.topics()
	topics := make([]Topic, 0, len(readers))
	for _, s := range readers {
		if s.roster() != nil {
			topics = append(topics, s.topic())
		}
	}
	return topics
}

// Timing returns how often the page of the connection proves that it is alive, and how long
// its user stays online after the connection closed: by the kinds of its topics, the
// shortest heartbeat and the longest grace. See [Connection.Heartbeats] for the first.
func (c *Connection) Timing() (heartbeat, grace time.Duration) {
	cfg := &c.tracker.cfg
	return cfg.Heartbeat(), cfg.Grace
}
