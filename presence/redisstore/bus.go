package redisstore

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// A bus delivers what the server publishes. All channels share one connection;
// on a cluster, sharded channels share one a master (a [line] each). It finds
// out itself when a connection breaks, hangs, or leads to the wrong master, and
// subscribes again; what is lost meanwhile shows as a gap.
type bus struct {
	client  redis.UniversalClient
	timeout time.Duration
	life    context.Context
	end     context.CancelFunc
	wait    sync.WaitGroup
	kick    chan struct{} // there is an unplaced channel

	mu       sync.Mutex // never held over a network
	routing  bool
	channels map[string]*channel // by name
	unplaced map[*channel]struct{}
	lines    map[string]*line // by master's address; "": the one for all
}

// A channel has those who want its messages.
type channel struct {
	name    string
	sharded bool

	// The bus's mutex guards these.
	line    *line         // nil: not placed yet
	heard   bool          // the server has confirmed
	err     error         // why it has not; nil as long as it is asked
	changed chan struct{} // closed when heard or err is set, and then replaced

	mu  sync.Mutex // around the calls of fns
	fns map[*func(string)]struct{}
}

// routeEvery is how often the master of each sharded channel is looked up.
const routeEvery = time.Second

func newBus(client redis.UniversalClient, timeout time.Duration) *bus {
	b := &bus{
		client: client, timeout: timeout,
		kick:     make(chan struct{}, 1),
		channels: make(map[string]*channel),
		unplaced: make(map[*channel]struct{}),
		lines:    make(map[string]*line),
	}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

func (b *bus) close() error {
	b.mu.Lock()
	b.end()
	b.mu.Unlock()
	b.wait.Wait()
	return nil
}

// subscribe calls fn for each message of a channel from the time it returns. It
// returns when the server has confirmed, or it is clear that it will not soon.
func (b *bus) subscribe(ctx context.Context, name string, sharded bool, fn func(string)) (stop func(), err error) {
	key := &fn
	c := b.join(name, sharded, key)
	if c == nil {
		return nil, presence.ErrClosed
	}
	if err := b.await(ctx, c); err != nil {
		b.leave(c, key)
		return nil, err
	}
	return func() { b.leave(c, key) }, nil
}

// background runs fn in a goroutine that close waits for, unless the bus is closed.
func (b *bus) background(fn func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Err() == nil {
		b.wait.Go(func() { fn(b.life) })
	}
}

// join returns the channel with one more who wants its messages, nil if the bus
// is closed.
func (b *bus) join(name string, sharded bool, key *func(string)) *channel {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Err() != nil {
		return nil
	}
	if !b.routing {
		b.routing = true
		b.wait.Go(b.route)
	}
	c := b.channels[name]
	if c == nil {
		c = &channel{name: name, sharded: sharded, changed: make(chan struct{}), fns: make(map[*func(string)]struct{})}
		b.channels[name] = c
		b.unplaced[c] = struct{}{}
		wake(b.kick)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fns[key] = struct{}{}
	return c
}

func (b *bus) await(ctx context.Context, c *channel) error {
	for {
		b.mu.Lock()
		heard, err, changed := c.heard, c.err, c.changed
		b.mu.Unlock()
		if heard || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-b.life.Done():
			return presence.ErrClosed
		}
	}
}

// leave returns when no call of the function is under way any more.
func (b *bus) leave(c *channel, key *func(string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.fns, key)
	if len(c.fns) == 0 && b.channels[c.name] == c {
		delete(b.channels, c.name)
		delete(b.unplaced, c)
		b.put(c, nil)
	}
}

// deliver gives a message to those who want it.
func (b *bus) deliver(name, message string) {
	b.mu.Lock()
	c := b.channels[name]
	b.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for fn := range c.fns {
		(*fn)(message)
	}
}

// set says how it stands with a channel. The caller holds the bus's mutex.
func (c *channel) set(heard bool, err error) {
	c.heard, c.err = heard, err
	if heard || err != nil {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// route keeps every channel on the line to its master, until the bus is closed.
func (b *bus) route() {
	tick := time.NewTicker(routeEvery)
	defer tick.Stop()
	for all := false; ; {
		b.place(all)
		select {
		case <-b.life.Done():
			return
		case <-b.kick:
			all = false
		case <-tick.C:
			all = true
		}
	}
}

// place puts channels that have no line on one, and looks whether the sharded
// ones, all of them, are on the right one.
func (b *bus) place(all bool) {
	b.mu.Lock()
	channels := slices.Collect(maps.Keys(b.unplaced))
	for _, c := range b.channels {
		if all && c.sharded && c.line != nil {
			channels = append(channels, c)
		}
	}
	b.mu.Unlock()
	for _, c := range channels {
		addr, client, err := b.home(c)
		b.mu.Lock()
		switch {
		case b.channels[c.name] != c: // it left
		case err != nil && c.line == nil:
			c.set(false, err)
		case err == nil && (c.line == nil || c.line.addr != addr):
			c.set(false, nil)
			b.put(c, b.lineTo(addr, client))
			delete(b.unplaced, c)
		}
		b.mu.Unlock()
	}
}

// put moves a channel to a line, or to none. A line without channels ends. The
// caller holds the mutex.
func (b *bus) put(c *channel, to *line) {
	from := c.line
	if c.line = to; to != nil {
		to.channels++
		to.look(c.name)
	}
	if from == nil {
		return
	}
	from.look(c.name)
	if from.channels--; from.channels == 0 {
		delete(b.lines, from.addr)
		from.end()
	}
}

// A subscriber is a client of one server, or of any node of a cluster.
type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// home returns where a channel is published. It may ask the cluster.
func (b *bus) home(c *channel) (addr string, client subscriber, err error) {
	if !c.sharded {
		return "", b.client, nil
	}
	ctx, cancel := context.WithTimeout(b.life, b.timeout)
	defer cancel()
	master, err := b.client.(*redis.ClusterClient).MasterForKey(ctx, c.name)
	if err != nil {
		return "", nil, err
	}
	return master.Options().Addr, master, nil
}

// lineTo returns the line to a master, made where it is new. The caller holds
// the mutex.
func (b *bus) lineTo(addr string, client subscriber) *line {
	l := b.lines[addr]
	if l == nil {
		l = newLine(b, addr, client)
		b.lines[addr] = l
		b.wait.Go(l.run)
	}
	return l
}

// wake never blocks.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
