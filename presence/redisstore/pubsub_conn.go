package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
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
	addr   string
	client subscriber
	life   context.Context
	end    context.CancelFunc
	kick   wait.Wakeup // there are changes to send

	// pubsub's mutex guards these.
	channels int
	pending  map[string]struct{} // channels that were added, removed, or lost
}

// A connection pings every pingEvery. It is dead when nothing came for maxSilence.
const (
	pingEvery    = time.Second
	maxSilence   = 4 * time.Second
	firstBackoff = 50 * time.Millisecond // before connecting again; doubled up to the timeout
	maxNames     = 500                   // channels in one command
)

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
		c.pubsub.lost(c, err)
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
	asked := make(map[string]bool) // the channels of this session, and whether each is sharded
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
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
			if err := c.send(func(ctx context.Context) error { return socket.Ping(ctx) }); err != nil {
				return err
			}
		}
	}
}

// send writes a command with a time limit.
func (c *pubsubConn) send(write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.life, c.pubsub.timeout)
	defer cancel()
	return write(ctx)
}

// ask subscribes to channels that were added to the connection, and unsubscribes from those that were
// removed. asked has the channels of this session so far.
func (c *pubsubConn) ask(socket *redis.PubSub, asked map[string]bool) error {
	came, left := c.pubsub.changes(c, asked)
	return errors.Join(
		c.sendNames(came.plain, maxNames, socket.Subscribe),
		c.sendNames(came.sharded, 1, socket.SSubscribe), // their slots differ
		c.sendNames(left.plain, maxNames, socket.Unsubscribe),
		c.sendNames(left.sharded, 1, socket.SUnsubscribe),
	)
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
		message, err := socket.ReceiveTimeout(c.life, maxSilence)
		var answer redis.Error
		switch {
		case errors.As(err, &answer):
			c.pubsub.refused(c, err) // the error does not name the channel
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
