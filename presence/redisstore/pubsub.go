package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// A pubsub delivers the messages that the server publishes. All channels share one connection; on a cluster,
// the sharded channels of a master share one (a [pubsubConn] each). A pubsub notices when a connection
// breaks, hangs, or leads to the wrong master, and subscribes again. Readers notice a gap if messages were
// lost meanwhile.
type pubsub struct {
	client  redis.UniversalClient
	timeout time.Duration
	pace    *pace
	life    context.Context
	end     context.CancelFunc
	wait    sync.WaitGroup
	kick    wait.Wakeup // a channel has no connection yet

	mu       sync.Mutex // never held during network calls
	routing  sync.Once
	channels map[string]*channel    // by name
	conns    map[string]*pubsubConn // by the master's address; "": for channels that are not sharded
}

func newPubsub(client redis.UniversalClient, timeout time.Duration, pace *pace) *pubsub {
	p := &pubsub{
		client: client, timeout: timeout, pace: pace,
		kick:     wait.NewWakeup(),
		channels: make(map[string]*channel),
		conns:    make(map[string]*pubsubConn),
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

func (p *pubsub) close() {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.wait.Wait()
}

// subscribe calls fn for each message of a channel from the time it returns. It waits
// until the server has confirmed the subscription, and returns an error if the server
// refuses it or cannot be reached.
func (p *pubsub) subscribe(ctx context.Context, name string, sharded bool, fn func(string)) (stop func(), err error) {
	c, stop := p.join(name, sharded, fn)
	if c == nil {
		return nil, presence.ErrClosed
	}
	if err := p.await(ctx, c); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// background runs fn in a goroutine for which close waits. It is a no-op after close.
func (p *pubsub) background(fn func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() == nil {
		p.wait.Go(func() { fn(p.life) })
	}
}

// join adds a function to a channel, and returns the channel, which is nil if the pubsub is closed. After leave has
// returned, no call of the function is under way.
func (p *pubsub) join(name string, sharded bool, fn func(string)) (c *channel, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil, nil
	}
	p.routing.Do(func() { p.wait.Go(p.route) })
	if c = p.channels[name]; c == nil {
		c = &channel{name: name, sharded: sharded, changed: make(chan struct{}), fns: make(map[*func(string)]struct{})}
		p.channels[name] = c
		p.kick.Wake()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fns[&fn] = struct{}{}
	return c, func() { p.leave(c, &fn) }
}

// await waits until the server has confirmed a subscription, or the subscription has failed.
func (p *pubsub) await(ctx context.Context, c *channel) error {
	for {
		p.mu.Lock()
		heard, err, changed := c.heard, c.err, c.changed
		p.mu.Unlock()
		if heard || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-p.life.Done():
			return presence.ErrClosed
		}
	}
}

func (p *pubsub) leave(c *channel, key *func(string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.fns, key)
	if len(c.fns) == 0 && p.channels[c.name] == c {
		delete(p.channels, c.name)
		p.putLocked(c, nil)
	}
}

// deliver calls the functions of a channel with a message.
func (p *pubsub) deliver(name, message string) {
	p.mu.Lock()
	c := p.channels[name]
	p.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for fn := range c.fns {
		(*fn)(message)
	}
}

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

// changes returns the channels that were added to a connection or removed from it since the last call. asked
// has the channels of its session; changes updates it.
func (p *pubsub) changes(conn *pubsubConn, asked map[string]struct{}) (came, left []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range conn.pending {
		_, had := asked[name]
		if c := p.channels[name]; c != nil && c.conn == conn {
			c.setLocked(false, nil)
			asked[name] = struct{}{}
			came = append(came, name)
		} else if had {
			delete(asked, name)
			left = append(left, name)
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
