package track

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// join makes the leases of some topics, and waits until they are seen here.
func (c *Connection) join(ctx context.Context, readers ...*reader) {
	if !c.visitor.SignedIn() {
		c.env.guests.count(&c.holder)
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
	t := c.env
	acks := t.leases.join(&c.holder, topics)
	defer leave(acks)
	if len(rosters) > 0 && !slices.ContainsFunc(rosters, func(r *replica) bool { return !isListed(c, r) }) { // a page that goes on, or the next one
		return
	}
	if t.outage.latestFailed() || t.writer.await(ctx, acks...) != nil || t.choices.hides(c.visitor.User) {
		return
	}
	for _, topic := range topics {
		if r := t.topics.peek(topic); r != nil {
			if a := r.apartOf(c.member(topic)); a.stored != nil {
				t.choices.tendMember(r, c.member(topic), a)
			}
		}
	}
	for _, r := range rosters {
		awaitMember(ctx, c, r)
	}
}

// isListed reports whether a topic's roster here has a connection's user.
func isListed(c *Connection, r *replica) bool {
	view := r.view.Load()
	_, is := view.Member(c.visitor.User.ID) // a truncated state may lack the user
	return is && !view.counting
}

// isHere is isListed, but for users whom the roster need not have.
func isHere(c *Connection, r *replica) bool {
	return isListed(c, r) || r.view.Load().counting || c.env.users.chosen(c.visitor.User.ID).Base() == presence.Invisible || c.Err() != nil
}

// awaitMember waits until a connection's user is in a topic's roster here.
func awaitMember(ctx context.Context, c *Connection, r *replica) {
	if isHere(c, r) {
		return
	}
	g := newWakeSet(true)
	c.setJoining(g)
	defer c.setJoining(nil)
	s := &reader{owner: c, from: r}
	r.out.attach(s, g)
	defer r.out.detach(s)
	for !isHere(c, r) {
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

// Timing returns how often the page of the connection proves that it is alive, a third of
// the shortest TTL of the topics in which the connection holds its user, and the shortest
// grace of these topics. For a connection that holds nobody they are those of [Config]. They
// change with the connection's topics: a page that has subscribed to a topic with a shorter
// TTL must beat more often.
func (c *Connection) Timing() (heartbeat, grace time.Duration) { return c.timing() }

// TTL returns how long the connection's user stays online without a proof of life: the
// shortest TTL of the topics in which the connection holds its user. For a connection that
// holds nobody it is that of [Config].
func (c *Connection) TTL() time.Duration { return c.ttl() }
