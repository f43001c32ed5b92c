package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Lost ends a connection whose client vanished without closing it. at is when the client last proved that it
// was alive. In each topic the user leaves one TTL after that, without a grace, as if beats had stopped. If
// the same user comes back before, others notice nothing. Last seen is the moment of Lost. Lost may be called
// twice, and after the connection has ended.
//
// Example: the TTL is 45 s. Alice's machine loses its power at 12:00:05, a second after it last answered. At
// 12:00:34 the kernel gives up the connection. Lost holds Alice until 12:00:49.
func (c *Connection) Lost(at time.Time) {
	c.mu.Lock()
	if c.end.err == nil {
		c.end.lost = at
	}
	c.mu.Unlock()
	c.beaten.Store(at.UnixNano())
	c.beat.Store(true) // the last proof of life is not the present
	c.finish(context.Canceled, graced)
}

// releaseAtEnd ends the lease in a topic at the end of the connection.
func (c *Connection) releaseAtEnd(topic presence.Topic, how ending) {
	c.mu.Lock()
	lost := c.end.lost
	c.mu.Unlock()
	if lost.IsZero() || how != graced {
		c.env.leases.release(&c.holder, topic, how, c.env.cfg.grace(topic))
		return
	}
	left := c.env.cfg.ttl(topic) - time.Since(lost)
	if left <= 0 {
		how = leaving
	}
	c.env.leases.release(&c.holder, topic, how, left)
}
