package presence

import (
	"context"
	"slices"
	"time"
)

// join makes leases, and waits until they are seen here.
func (c *Connection) join(ctx context.Context, readers ...*reader) {
	if !c.holds() {
		c.countGuest()
		return
	}
	t := c.tracker
	made := make(chan joining, 1)
	t.asNow(c.visitor.User, func(now User) {
		j := joining{status: now.Status}
		for _, s := range readers {
			if t.hasLocked(c, s.topic()) { // a sign-out may have been faster
				j.acks = append(j.acks, t.writer.addAcked(s.topic(), c.lease(now)))
			}
		}
		made <- j
	})
	if t.writer.isOut() {
		return
	}
	select {
	case j := <-made:
		if t.await(ctx, j.acks...) != nil || j.status == Invisible {
			return
		}
	case <-ctx.Done():
		return
	case <-t.life.Done():
		return
	}
	for _, s := range readers {
		c.awaitMember(ctx, s.roster(), c.visitor.User.ID)
	}
}

// A joining is what became of a join that was asked for.
type joining struct {
	status Status
	acks   []*ack
}

// hasLocked reports whether a connection is open here and reads a topic. The caller
// holds mu.
func (t *Tracker) hasLocked(c *Connection, topic Topic) bool {
	return t.connections.byID[c.id] == c &&
		slices.ContainsFunc(c.topics(), func(s *reader) bool { return s.topic() == topic })
}

// awaitMember waits until a user is in a topic's roster here.
func (c *Connection) awaitMember(ctx context.Context, r *replica, user UserID) {
	here := func() bool {
		view := r.view.Load()
		_, ok := view.Member(user) // a truncated state need not hold the user, and no state one who is invisible
		return ok || view.counting || c.tracker.Status(user) == Invisible || c.Err() != nil
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

// lease is the operation that holds the connection's user.
func (c *Connection) lease(user User) Op {
	return Op{Kind: OpJoin, User: user, Holder: c.id, For: c.tracker.cfg.TTL}
}

// release ends the lease in a topic: by OpRelease, or OpDrop. After an outage it may
// have expired, and then there would be no grace: it is renewed first.
func (c *Connection) release(topic Topic, kind OpKind) {
	t := c.tracker
	if kind == opGiveUp {
		if t.writer.giveUp(topic, c.lease(c.visitor.User)) {
			return
		}
		kind = OpRelease
	}
	if kind == OpRelease && t.catchesUp() {
		t.asNow(c.visitor.User, func(user User) { t.writer.add(topic, c.lease(user)) })
	}
	t.writer.add(topic, releaseOf(c.visitor.User.ID, c.id, kind, t.cfg.Grace))
}

func releaseOf(user UserID, holder Holder, kind OpKind, grace time.Duration) Op {
	return Op{Kind: kind, User: User{ID: user}, Holder: holder, For: grace}
}

// rejoin makes a lease again that the store lost. A connection that has ended
// stays ended: its release waits behind, or was written.
func (c *Connection) rejoin(topic Topic) {
	t := c.tracker
	t.asNow(c.visitor.User, func(user User) {
		if t.hasLocked(c, topic) {
			t.writer.add(topic, c.lease(user))
		}
	})
}

// countGuest counts a streaming guest in each topic.
func (c *Connection) countGuest() {
	if c.visitor.SignedIn() || c.observe {
		return
	}
	for _, topic := range c.rosterTopics() {
		c.tracker.SeenGuest(topic, c.visitor.Guest)
	}
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

// followed notes that a page has joined a connection now, as if that had just been
// opened: only page views that come later count when it closes.
func (t *Tracker) followed(c *Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.opened.IsZero() {
		c.opened = time.Now()
	}
}

// openedAfter reports whether a connection was opened after a moment, or is being
// opened.
func (c *Connection) openedAfter(at time.Time) bool {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	return c.opened.IsZero() || c.opened.After(at)
}
