package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// A bus delivers what the server publishes. All channels share one connection;
// on a cluster, sharded channels share one a master. go-redis connects again
// and subscribes again by itself; what is lost meanwhile shows as a gap.
type bus struct {
	client  redis.UniversalClient
	sharded bool
	life    context.Context
	end     context.CancelFunc
	wait    sync.WaitGroup

	mu       sync.Mutex
	lines    map[string]*redis.PubSub // by master's address; "": the one for all
	channels map[string]*channel      // by name
}

// A channel has those who want its messages.
type channel struct {
	name      string
	line      *redis.PubSub
	sharded   bool
	confirmed chan struct{} // closed once the server knows of us
	once      sync.Once

	mu  sync.Mutex // around the calls of fns
	fns map[*func(string)]struct{}
}

// lineBuffer is how many messages wait for a slow reader of a line.
const lineBuffer = 4096

func newBus(client redis.UniversalClient) *bus {
	_, cluster := client.(*redis.ClusterClient)
	b := &bus{client: client, sharded: cluster, lines: make(map[string]*redis.PubSub), channels: make(map[string]*channel)}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

func (b *bus) close() error {
	b.end()
	b.mu.Lock()
	for _, l := range b.lines {
		_ = l.Close()
	}
	b.mu.Unlock()
	b.wait.Wait()
	return nil
}

// subscribe calls fn for each message of a channel from the time it returns.
func (b *bus) subscribe(ctx context.Context, name string, sharded bool, fn func(string)) (stop func(), err error) {
	key := &fn
	b.mu.Lock()
	c := b.channels[name]
	fresh := c == nil
	if fresh {
		c = &channel{name: name, sharded: sharded, confirmed: make(chan struct{}), fns: make(map[*func(string)]struct{})}
		b.channels[name] = c
	}
	c.mu.Lock()
	c.fns[key] = struct{}{}
	c.mu.Unlock()
	b.mu.Unlock()

	stop = func() { b.unsubscribe(c, key) }
	if fresh {
		err = b.attach(ctx, c)
	}
	if err == nil {
		select {
		case <-c.confirmed:
			return stop, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-b.life.Done():
			err = presence.ErrClosed
		}
	}
	stop()
	return nil, err
}

// attach subscribes to a channel, on the line to its master.
func (b *bus) attach(ctx context.Context, c *channel) error {
	addr := ""
	if c.sharded {
		master, err := b.client.(*redis.ClusterClient).MasterForKey(ctx, c.name)
		if err != nil {
			return err
		}
		addr = master.Options().Addr
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Err() != nil {
		return presence.ErrClosed
	}
	c.line = b.lines[addr]
	fresh := c.line == nil
	if fresh {
		c.line = b.client.Subscribe(b.life)
		b.lines[addr] = c.line
	}
	// An error here is one of the connection: it is made again, and this with it.
	if c.sharded {
		_ = c.line.SSubscribe(ctx, c.name)
	} else {
		_ = c.line.Subscribe(ctx, c.name)
	}
	if fresh {
		line := c.line
		b.wait.Go(func() { b.listen(line) })
	}
	return nil
}

// listen delivers what comes on a line until it is closed.
func (b *bus) listen(line *redis.PubSub) {
	for message := range line.ChannelWithSubscriptions(redis.WithChannelSize(lineBuffer)) {
		switch m := message.(type) {
		case *redis.Message:
			if c := b.channel(m.Channel); c != nil {
				c.deliver(m.Payload)
			}
		case *redis.Subscription:
			c := b.channel(m.Channel)
			switch {
			case c == nil:
			case m.Kind == "subscribe" || m.Kind == "ssubscribe":
				c.once.Do(func() { close(c.confirmed) })
			case m.Kind == "sunsubscribe": // its slot went to another master
				b.wait.Go(func() { _ = b.attach(b.life, c) })
			}
		}
	}
}

func (b *bus) channel(name string) *channel {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.channels[name]
}

func (c *channel) deliver(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for fn := range c.fns {
		(*fn)(message)
	}
}

func (b *bus) unsubscribe(c *channel, key *func(string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.mu.Lock()
	delete(c.fns, key)
	left := len(c.fns)
	c.mu.Unlock()
	if left > 0 || b.channels[c.name] != c {
		return
	}
	delete(b.channels, c.name)
	if c.line == nil || b.life.Err() != nil {
		return
	}
	if c.sharded {
		_ = c.line.SUnsubscribe(b.life, c.name)
	} else {
		_ = c.line.Unsubscribe(b.life, c.name)
	}
}
