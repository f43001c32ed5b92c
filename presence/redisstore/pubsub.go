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
	routing  bool
	channels map[string]*channel // by name
	unplaced map[*channel]struct{}
	conns    map[string]*pubsubConn // by the master's address; "": for channels that are not sharded
}

func newPubsub(client redis.UniversalClient, timeout time.Duration, pace *pace) *pubsub {
	p := &pubsub{
		client: client, timeout: timeout, pace: pace,
		kick:     wait.NewWakeup(),
		channels: make(map[string]*channel),
		unplaced: make(map[*channel]struct{}),
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
	key := &fn
	c := p.join(name, sharded, key)
	if c == nil {
		return nil, presence.ErrClosed
	}
	if err := p.await(ctx, c); err != nil {
		p.leave(c, key)
		return nil, err
	}
	return func() { p.leave(c, key) }, nil
}

// background runs fn in a goroutine for which close waits. It is a no-op after close.
func (p *pubsub) background(fn func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() == nil {
		p.wait.Go(func() { fn(p.life) })
	}
}

// join adds a function to a channel, and returns the channel; nil if the pubsub is closed.
func (p *pubsub) join(name string, sharded bool, key *func(string)) *channel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil
	}
	if !p.routing {
		p.routing = true
		p.wait.Go(p.route)
	}
	c := p.channels[name]
	if c == nil {
		c = &channel{name: name, sharded: sharded, changed: make(chan struct{}), fns: make(map[*func(string)]struct{})}
		p.channels[name] = c
		p.unplaced[c] = struct{}{}
		p.kick.Wake()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fns[key] = struct{}{}
	return c
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

// leave removes a function from a channel. After it has returned, no call of the function is under way.
func (p *pubsub) leave(c *channel, key *func(string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.fns, key)
	if len(c.fns) == 0 && p.channels[c.name] == c {
		delete(p.channels, c.name)
		delete(p.unplaced, c)
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
