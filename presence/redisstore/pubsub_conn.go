package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/wait"
)

// A pubsubConn is one connection for messages. When it breaks, it reconnects and subscribes to its channels
// again. go-redis would reconnect too, but it subscribes to the sharded channels of several slots in one
// command, which a cluster refuses. It also keeps a connection on which no answer comes, and does not report
// when it reconnects.
type pubsubConn struct {
	pubsub *pubsub
	addr   string // of the master of its channels, which are sharded; "": they are not
	client subscriber
	life   context.Context
	end    context.CancelFunc
	kick   wait.Wakeup // there are changes to send

	answered atomic.Bool // the server has said something

	// pubsub's mutex guards these.
	channels int
	pending  map[string]struct{} // channels that were added, removed, or lost
}

// A connection pings every pingEvery, or every restPing while nobody uses the node. It is dead when nothing
// came for maxSilence after a ping.
const (
	pingEvery    = 2 * time.Second
	maxSilence   = 3 * time.Second
	lookEvery    = time.Second           // how often the connection looks whether to ping, and whether it is dead
	firstBackoff = 50 * time.Millisecond // before connecting again; doubled up to the timeout
	maxNames     = 500                   // channels in one command
)

var errSilent = errors.New("the server does not answer a ping")

func newPubsubConn(p *pubsub, addr string, client subscriber) *pubsubConn {
	c := &pubsubConn{pubsub: p, addr: addr, client: client, kick: wait.NewWakeup(), pending: make(map[string]struct{})}
	c.life, c.end = context.WithCancel(p.life)
	return c
}

// lookLocked makes the connection subscribe to a channel that belongs to it, or unsubscribe from one that no
// longer does. The caller holds the mutex of pubsub.
func (c *pubsubConn) lookLocked(name string) {
	c.pending[name] = struct{}{}
	c.kick.Wake()
}

// run connects, again and again, until the connection is ended.
func (c *pubsubConn) run() {
	defer c.end()
	for backoff := firstBackoff; ; backoff = min(2*backoff, c.pubsub.timeout) {
		began := time.Now()
		err := c.session()
		c.pubsub.unconfirm(c, err, true)
		c.pubsub.pace.used()
		if time.Since(began) > maxSilence {
			backoff = firstBackoff
		}
		select {
		case <-c.life.Done():
			return
		case <-time.After(backoff/2 + rand.N(backoff)):
		}
	}
}

// session connects, and uses the connection until it breaks.
func (c *pubsubConn) session() error {
	socket := c.client.Subscribe(c.life)
	broken := make(chan error, 1)
	received := make(chan struct{})
	close(received)
	defer func() {
		_ = socket.Close()
		<-received
	}()
	asked := make(map[string]struct{}) // the channels of this session
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	pings := pings{sent: time.Now(), silent: time.Now()}
	for first := true; ; first = false {
		if err := c.ask(socket, asked); err != nil {
			return err
		}
		if first {
			received = make(chan struct{})
			go func() {
				defer close(received)
				broken <- c.receive(socket)
			}()
		}
		select {
		case <-c.life.Done():
			return c.life.Err()
		case err := <-broken:
			return err
		case <-c.kick:
		case <-tick.C:
		}
		if err := c.ping(socket, &pings); err != nil {
			return err
		}
	}
}

// pings are those of a session.
type pings struct {
	sent   time.Time // the latest one
	silent time.Time // the first one that has no answer; zero: the server has said something since
}

// ping sends a ping if it is time. It returns an error if the connection is dead.
func (c *pubsubConn) ping(socket *redis.PubSub, p *pings) error {
	if c.answered.Swap(false) {
		p.silent = time.Time{}
	}
	if !p.silent.IsZero() && time.Since(p.silent) > maxSilence {
		return errSilent
	}
	if time.Since(p.sent) < c.pubsub.pace.or(pingEvery, restPing) {
		return nil
	}
	if p.sent = time.Now(); p.silent.IsZero() {
		p.silent = p.sent
	}
	return c.send(func(ctx context.Context) error { return socket.Ping(ctx) })
}

// send writes a command with a time limit.
func (c *pubsubConn) send(write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.life, c.pubsub.timeout)
	defer cancel()
	return write(ctx)
}

// ask subscribes to channels that were added to the connection, and unsubscribes from those that were
// removed. asked has the channels of this session so far.
func (c *pubsubConn) ask(socket *redis.PubSub, asked map[string]struct{}) error {
	came, left := c.pubsub.changes(c, asked)
	most, subscribe, unsubscribe := maxNames, socket.Subscribe, socket.Unsubscribe
	if c.addr != "" { // its channels are sharded, and their slots differ
		most, subscribe, unsubscribe = 1, socket.SSubscribe, socket.SUnsubscribe
	}
	return errors.Join(c.sendNames(came, most, subscribe), c.sendNames(left, most, unsubscribe))
}

func (c *pubsubConn) sendNames(names []string, most int, command func(context.Context, ...string) error) error {
	for part := range slices.Chunk(names, most) {
		if err := c.send(func(ctx context.Context) error { return command(ctx, part...) }); err != nil {
			return err
		}
	}
	return nil
}

// receive delivers messages until the connection breaks.
func (c *pubsubConn) receive(socket *redis.PubSub) error {
	for {
		message, err := socket.Receive(c.life)
		c.answered.Store(true)
		var answer redis.Error
		switch {
		case errors.As(err, &answer):
			c.pubsub.unconfirm(c, err, false) // the error does not name the channel
			continue
		case err != nil:
			return err
		}
		switch m := message.(type) {
		case *redis.Message:
			c.pubsub.deliver(m.Channel, m.Payload)
		case *redis.Subscription:
			c.pubsub.confirmed(c, m)
		}
	}
}

const routeEvery = time.Second // how often the master of each sharded channel is looked up

// route keeps every channel on the connection to its master, until the pubsub is closed.
func (p *pubsub) route() {
	tick := time.NewTicker(routeEvery)
	defer tick.Stop()
	for all := false; ; {
		p.place(all)
		select {
		case <-p.life.Done():
			return
		case <-p.kick:
			all = false
		case <-tick.C:
			all = true
		}
	}
}

// place gives a connection to each channel that has none. With all it also moves sharded
// channels whose slot went to another master.
func (p *pubsub) place(all bool) {
	p.mu.Lock()
	var channels []*channel
	for _, c := range p.channels {
		if c.conn == nil || all && c.sharded {
			channels = append(channels, c)
		}
	}
	p.mu.Unlock()
	for _, c := range channels {
		addr, client, err := p.home(c)
		p.mu.Lock()
		switch {
		case p.channels[c.name] != c: // the channel was left meanwhile
		case err != nil && c.conn == nil:
			c.setLocked(false, err)
		case err == nil && (c.conn == nil || c.conn.addr != addr):
			c.setLocked(false, nil)
			p.putLocked(c, p.connToLocked(addr, client))
		}
		p.mu.Unlock()
	}
}

// putLocked moves a channel to a connection; nil: to none. A connection without channels
// ends. The caller holds mu.
func (p *pubsub) putLocked(c *channel, to *pubsubConn) {
	from := c.conn
	if c.conn = to; to != nil {
		to.channels++
		to.lookLocked(c.name)
	}
	if from == nil {
		return
	}
	from.lookLocked(c.name)
	if from.channels--; from.channels == 0 {
		delete(p.conns, from.addr)
		from.end()
	}
}

// A subscriber is a client of one server, or of any node of a cluster.
type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// home returns the address of the server that publishes a channel, and a client of it. It
// may ask the cluster.
func (p *pubsub) home(c *channel) (addr string, client subscriber, err error) {
	if !c.sharded {
		return "", p.client, nil
	}
	ctx, cancel := context.WithTimeout(p.life, p.timeout)
	defer cancel()
	master, err := p.client.(*redis.ClusterClient).MasterForKey(ctx, c.name)
	if err != nil {
		return "", nil, err
	}
	return master.Options().Addr, master, nil
}

// connToLocked returns the connection to a master, and starts it if it is new. The caller
// holds mu.
func (p *pubsub) connToLocked(addr string, client subscriber) *pubsubConn {
	conn := p.conns[addr]
	if conn == nil {
		conn = newPubsubConn(p, addr, client)
		p.conns[addr] = conn
		p.wait.Go(conn.run)
	}
	return conn
}
