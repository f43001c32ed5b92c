package redisstore

import (
	"sync"

	"github.com/redis/go-redis/v9"
)

// A channel is one channel of the server, and the functions that take its messages.
type channel struct {
	name    string
	sharded bool

	// pubsub's mutex guards these.
	conn    *pubsubConn   // nil: it has no connection yet
	heard   bool          // the server has confirmed the subscription
	err     error         // why it has not; nil while waiting for the answer
	changed chan struct{} // closed when heard or err is set, and then replaced

	mu  sync.Mutex // held during calls of fns
	fns map[*func(string)]struct{}
}

// setLocked stores the state of a subscription. The caller holds the mutex of pubsub.
func (c *channel) setLocked(heard bool, err error) {
	c.heard, c.err = heard, err
	if heard || err != nil {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// names are names of channels.
type names struct{ plain, sharded []string }

func (n *names) add(name string, sharded bool) {
	if sharded {
		n.sharded = append(n.sharded, name)
	} else {
		n.plain = append(n.plain, name)
	}
}

// changes returns the channels that were added to a connection or removed from it since the last call. asked
// has the channels of its session, and whether each is sharded; changes updates it.
func (p *pubsub) changes(conn *pubsubConn, asked map[string]bool) (came, left names) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range conn.pending {
		if c := p.channels[name]; c != nil && c.conn == conn {
			c.setLocked(false, nil)
			asked[name] = c.sharded
			came.add(name, c.sharded)
		} else if sharded, ok := asked[name]; ok {
			delete(asked, name)
			left.add(name, sharded)
		}
	}
	clear(conn.pending)
	return came, left
}

// confirmed handles the server's message that it subscribed this node, or that it ended a subscription by
// itself because the slot moved to another master.
func (p *pubsub) confirmed(conn *pubsubConn, m *redis.Subscription) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.channels[m.Channel]
	switch {
	case c == nil || c.conn != conn:
	case m.Kind == "subscribe" || m.Kind == "ssubscribe":
		c.setLocked(true, nil)
	case m.Kind == "sunsubscribe":
		c.setLocked(false, nil)
		conn.pending[c.name] = struct{}{} // subscribed again with the next ping, unless the channel has moved by then
	}
}

// unconfirm fails the subscriptions of a connection that are not confirmed, or all of them. The next ping or
// session asks for them again.
func (p *pubsub) unconfirm(conn *pubsubConn, err error, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.channels {
		if c.conn == conn && (all || !c.heard) {
			c.setLocked(false, err)
			conn.pending[c.name] = struct{}{}
		}
	}
}
