package track

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// join makes the leases of some topics, and waits until they are seen here.
func (c *Connection) join(ctx context.Context, readers ...*reader) {
	if !c.visitor.SignedIn() {
		c.countGuest()
		return
	}
	var rosters []*replica
	var topics []presence.Topic
	for _, s := range readers {
		if s.enters {
			rosters, topics = append(rosters, rosterOf(s)), append(topics, s.topic())
		}
	}
	if c.holdsDevice() && !c.everJoined {
		c.everJoined, topics = true, append(topics, backend.DevicesTopic)
	}
	if len(topics) == 0 {
		return
	}
	type joined struct {
		status presence.Status
		acks   []*ack
	}
	made := make(chan joined, 1)
	t := c.env
	var over atomic.Bool
	t.leases.join(c, topics, func(now resolved, acks []*ack) {
		made <- joined{now.in(presence.Site, presence.Device{}).Status, acks}
		if over.Load() {
			leave(acks)
		}
	})
	defer func() {
		over.Store(true)
		select {
		case j := <-made:
			leave(j.acks)
		default:
		}
	}()
	if t.outage.latestFailed() {
		return
	}
	select {
	case j := <-made:
		if t.writer.await(ctx, j.acks...) != nil || j.status.Base() == presence.Invisible {
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
		if view.counting {
			return true
		}
		_, ok := view.Member(user) // a truncated state need not hold the user, and no state one who is invisible
		return ok || c.env.users.chosen(user).Base() == presence.Invisible || c.Err() != nil
	}
	if here() {
		return
	}
	r.admit(user)
	g := newWakeSet(true)
	c.setJoining(g)
	defer c.setJoining(nil)
	s := &reader{owner: c, from: r}
	r.out.attach(s, g)
	defer r.out.detach(s)
	for !here() {
		select {
		case <-g.ready:
			r.out.rearm(s)
		case <-ctx.Done():
			return
		}
	}
}

func (c *Connection) setJoining(g *wakeSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joining = g
}

// leaseOf returns the operation that holds the connection's user in a topic. The caller holds
// users.mu.
func (c *Connection) leaseOf(topic presence.Topic, user resolved) backend.Op {
	return backend.Op{Kind: backend.OpJoin, User: user.in(topic, c.visitor.Device), Holder: c.id, For: c.env.cfg.ttl(topic), Idle: c.saidIdle}
}

// member returns the user whom the connection holds in a topic: in backend.DevicesTopic the device.
func (c *Connection) member(topic presence.Topic) presence.UserID {
	if topic == backend.DevicesTopic {
		return backend.MemberOf(c.visitor.User.ID, c.visitor.Device.ID)
	}
	return c.visitor.User.ID
}

// holdsDevice reports whether the connection holds its user's device in backend.DevicesTopic.
func (c *Connection) holdsDevice() bool {
	return !c.observe && c.visitor.SignedIn() && c.env.people
}

// heldIn reports whether the connection holds its user, or its device, in a topic.
func (c *Connection) heldIn(topic presence.Topic) bool {
	return c.enters(topic) || topic == backend.DevicesTopic && c.holdsDevice()
}

// release ends the lease in a topic, by OpRelease or OpDrop.
func (c *Connection) release(topic presence.Topic, kind backend.OpKind) {
	c.releaseFor(topic, kind, c.env.cfg.grace(topic))
}

// releaseFor is release with another grace. The operation has the lease that it ends, which
// the writer may have to renew first: see renewed.
func (c *Connection) releaseFor(topic presence.Topic, kind backend.OpKind, grace time.Duration) {
	t := c.env
	if kind == opGiveUp {
		if t.writer.giveUp(topic, backend.Op{Kind: backend.OpJoin, User: presence.User{ID: c.member(topic)}, Holder: c.id}) {
			return
		}
		kind = backend.OpRelease
	}
	if kind == opLeave {
		t.writer.add(topic, releaseOf(c.member(topic), c.id, backend.OpRelease, 0))
		return
	}
	release := operation{Op: releaseOf(c.member(topic), c.id, kind, grace)}
	if kind == backend.OpRelease {
		t.choices.ifKnown(c.visitor.User, func(user resolved) { // else the lease was not made, or the store has just lost its data
			release.lease = &lease{c.leaseOf(topic, user), c.visitor, c.identified}
		})
	}
	t.writer.put(topic, release)
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
	for _, topic := range c.enteredTopics() {
		c.env.guests.seen(topic, c.visitor.Guest)
	}
}

// forgetGuest takes the guest, who signed in, out of each topic, and returns the topics.
// The connection no longer counts the guest.
func (c *Connection) forgetGuest() []presence.Topic {
	c.mu.Lock()
	c.guestSignedIn = true
	c.mu.Unlock()
	topics := c.enteredTopics()
	for _, topic := range topics {
		c.env.guests.forget(topic, c.visitor.Guest)
	}
	return topics
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

// holds reports whether the connection holds a user online in any topic.
func (c *Connection) holds() bool {
	return c.holdsDevice() || c.visitor.SignedIn() && slices.ContainsFunc(c.topics(), func(s *reader) bool { return s.enters })
}

// enters reports whether the visitor is in a topic by the connection, and not only watches.
func (c *Connection) enters(topic presence.Topic) bool {
	return slices.ContainsFunc(c.topics(), func(s *reader) bool { return s.topic() == topic && s.enters })
}

// heldTopics returns the topics in which the connection holds its user, and at last
// backend.DevicesTopic if it holds the user's device.
func (c *Connection) heldTopics() []presence.Topic {
	if !c.visitor.SignedIn() {
		return nil
	}
	topics := c.enteredTopics()
	if c.holdsDevice() {
		topics = append(topics, backend.DevicesTopic)
	}
	return topics
}

// enteredTopics returns the topics that the visitor enters.
func (c *Connection) enteredTopics() []presence.Topic {
	readers := c.topics()
	topics := make([]presence.Topic, 0, len(readers))
	for _, s := range readers {
		if s.enters {
			topics = append(topics, s.topic())
		}
	}
	return topics
}

// Timing returns how often the page of the connection proves that it is alive, a third of
// the shortest TTL of the topics in which the connection holds its user, and the shortest
// grace of these topics. For a connection that holds nobody they are those of [Config]. They
// change with the connection's topics: a page that has subscribed to a topic with a shorter
// TTL must beat more often.
func (c *Connection) Timing() (heartbeat, grace time.Duration) {
	cfg := c.env.cfg
	heartbeat, grace = cfg.Heartbeat(), cfg.Grace
	if len(cfg.Kinds) == 0 || !c.holds() {
		return heartbeat, grace
	}
	first := true
	for _, s := range c.topics() {
		if !s.enters {
			continue
		}
		h, g := heartbeatFor(cfg.ttl(s.topic())), cfg.grace(s.topic())
		if first {
			heartbeat, grace, first = h, g, false
			continue
		}
		heartbeat, grace = min(heartbeat, h), min(grace, g)
	}
	if c.holdsDevice() {
		heartbeat = min(heartbeat, cfg.Heartbeat())
	}
	return heartbeat, grace
}

// TTL returns how long the connection's user stays online without a proof of life: the
// shortest TTL of the topics in which the connection holds its user. For a connection that
// holds nobody it is that of [Config].
func (c *Connection) TTL() time.Duration {
	cfg := c.env.cfg
	if len(cfg.Kinds) == 0 || !c.holds() {
		return cfg.TTL
	}
	ttl := time.Duration(0)
	for _, topic := range c.heldTopics() {
		if of := cfg.ttl(topic); ttl == 0 || of < ttl {
			ttl = of
		}
	}
	return ttl
}
