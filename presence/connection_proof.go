package presence

import (
	"context"
	"time"
)

// A connection is taken for a living page by one of two proofs. The open connection itself
// holds the leases, if what carries it notices a client that vanishes. Otherwise the page
// beats.

// NeedBeats makes calls of Beat alone renew the leases from now on, as with
// [ConnectOptions].Beat. It is for a connection that turns out to be carried by something
// that does not notice a client that vanishes.
func (c *Connection) NeedBeats() {
	c.beaten.Store(time.Now().UnixNano())
	c.beat.Store(true)
	c.tracker.attention.look(c.visitor.User.ID) // the page may fall silent
}

// proved notes that the page is alive. After a silence it counts again, with what it said of
// itself before.
func (c *Connection) proved() {
	now := time.Now()
	last := time.Unix(0, c.beaten.Swap(now.UnixNano()))
	if c.beat.Load() && now.Sub(last) >= c.TTL() {
		c.tracker.attention.look(c.visitor.User.ID)
	}
}

// Lost ends a connection whose client vanished without a word: at is when the client last
// proved that it was alive. In each topic the user is gone a TTL after that, as if beats had
// stopped, and without a grace. Until then the same user may come back unnoticed. Last seen is
// the moment of Lost. Lost may be called twice, and after the connection ended.
//
// Example: the TTL is 45 s. Alice's machine loses its power at 12:00:05, a second after it
// last answered. At 12:00:34 the kernel gives up the connection. Lost holds Alice until
// 12:00:49.
func (c *Connection) Lost(at time.Time) {
	c.mu.Lock()
	if c.end.err == nil {
		c.end.lost = at
	}
	c.mu.Unlock()
	c.beaten.Store(at.UnixNano())
	c.beat.Store(true) // the last proof is not of now
	c.finish(context.Canceled, OpRelease)
}

// releaseAtEnd ends the lease in a topic at the end of the connection.
func (c *Connection) releaseAtEnd(topic Topic, kind OpKind) {
	c.mu.Lock()
	lost := c.end.lost
	c.mu.Unlock()
	if lost.IsZero() || kind != OpRelease {
		c.release(topic, kind)
		return
	}
	left := c.tracker.cfg.ttl(topic) - time.Since(lost)
	if left <= 0 {
		kind = OpDrop
	}
	c.releaseFor(topic, kind, left)
}

// TTL returns how long the connection's user stays online without a proof of life: the
// shortest TTL of the topics in which the connection holds its user. For a connection that
// holds nobody it is that of [Config].
func (c *Connection) TTL() time.Duration {
	cfg := &c.tracker.cfg
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
