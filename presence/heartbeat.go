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

// A goneLease is one that a heartbeat found gone.
type goneLease struct {
	conn  *Connection
	topic Topic
}

// rejoin has a lease made again that a heartbeat found gone: the store lost it, or
// this node was out of reach for longer than the TTL, or the user signed out.
func (t *Tracker) rejoin(topic Topic, op Op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.connections.byID[op.Holder]
	if c == nil {
		return
	}
	t.gone[goneLease{c, topic}] = struct{}{}
	if !t.rejoining {
		t.rejoining = true
		t.spawn(t.rejoinAll)
	}
}

// rejoinAll makes gone leases again, once every notice was heard that was told
// before: a connection whose user signed out has ended then.
func (t *Tracker) rejoinAll(ctx context.Context) {
	for {
		t.mu.Lock()
		gone := t.gone
		t.gone, t.rejoining = make(map[goneLease]struct{}), len(gone) > 0
		t.mu.Unlock()
		if len(gone) == 0 {
			return
		}
		for t.hearAll(ctx) != nil {
			if !wait(ctx, backoffFirst) {
				return
			}
		}
		for lease := range gone {
			lease.conn.rejoin(lease.topic)
		}
	}
}
