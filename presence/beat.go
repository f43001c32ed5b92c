package presence

import (
	"context"
	"time"
)

// beat renews the leases of the connections here, all in one batch a topic, and
// counts the guests among them again before their sketch is forgotten.
func (t *Tracker) beat(ctx context.Context) {
	leases := time.NewTicker(t.cfg.Heartbeat())
	defer leases.Stop()
	guests := time.NewTicker(t.cfg.Age / 2)
	defer guests.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-leases.C:
			for _, c := range t.allConnections() {
				if !c.beat {
					c.Beat()
				}
			}
		case <-guests.C:
			for _, c := range t.allConnections() {
				c.countGuest()
			}
		}
	}
}

func (t *Tracker) allConnections() []*Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.connections.all()
}

// rejoin makes a lease again that a heartbeat found gone: the store lost it, or
// this node was out of reach for longer than the TTL.
func (t *Tracker) rejoin(topic Topic, op Op) {
	t.mu.Lock()
	c := t.connections.byID[op.Holder]
	t.mu.Unlock()
	if c != nil {
		c.rejoin(topic)
	}
}
