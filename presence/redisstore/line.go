package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A line is one connection on which messages come. When it breaks it makes
// another one and subscribes again. (go-redis would do that too; but it asks for
// the sharded channels of several slots in one command, which a cluster refuses;
// it keeps a connection on which nothing is answered; and it tells nobody.)
type line struct {
	bus    *bus
	addr   string
	client subscriber
	life   context.Context
	end    context.CancelFunc
	kick   chan struct{} // there is something to ask

	// The bus's mutex guards these.
	channels int
	todo     map[string]struct{} // names of channels that came, left, or were lost
}

// A line pings every pingEvery, and is dead when nothing came for silence.
const (
	pingEvery   = time.Second
	silence     = 4 * time.Second
	lineBackoff = 50 * time.Millisecond // the first; doubled up to the bus's timeout
	askMost     = 500                   // channels in one command
)

func newLine(b *bus, addr string, client subscriber) *line {
	l := &line{bus: b, addr: addr, client: client, kick: make(chan struct{}, 1), todo: make(map[string]struct{})}
	l.life, l.end = context.WithCancel(b.life)
	return l
}

// look makes the line ask for a channel, or end it if it is not its own any
// more. The caller holds the bus's mutex.
func (l *line) look(name string) {
	l.todo[name] = struct{}{}
	wake(l.kick)
}

// run keeps the line up until it is ended.
func (l *line) run() {
	defer l.end()
	for backoff := lineBackoff; ; backoff = min(2*backoff, l.bus.timeout) {
		began := time.Now()
		err := l.session()
		l.lost(err)
		if time.Since(began) > silence {
			backoff = lineBackoff
		}
		select {
		case <-l.life.Done():
			return
		case <-time.After(backoff/2 + rand.N(backoff)):
		}
	}
}

// session makes a connection and uses it until it breaks.
func (l *line) session() error {
	pubsub := l.client.Subscribe(l.life)
	broken := make(chan error, 1)
	received := make(chan struct{})
	close(received)
	defer func() {
		_ = pubsub.Close()
		<-received
	}()
	asked := make(map[string]bool) // on this connection; whether it is sharded
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := l.ask(pubsub, asked); err != nil {
			return err
		}
		if first {
			received = make(chan struct{})
			go func() {
				defer close(received)
				broken <- l.receive(pubsub)
			}()
		}
		select {
		case <-l.life.Done():
			return l.life.Err()
		case err := <-broken:
			return err
		case <-l.kick:
		case <-tick.C:
			if err := l.send(func(ctx context.Context) error { return pubsub.Ping(ctx) }); err != nil {
				return err
			}
		}
	}
}

// send bounds the time of writing a command.
func (l *line) send(write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(l.life, l.bus.timeout)
	defer cancel()
	return write(ctx)
}

// ask tells the server of channels that came to the line or left it. asked is
// what it was told on this connection.
func (l *line) ask(pubsub *redis.PubSub, asked map[string]bool) error {
	var came, left [2][]string // plain, sharded
	kind := map[bool]int{true: 1}
	l.bus.mu.Lock()
	for name := range l.todo {
		if c := l.bus.channels[name]; c != nil && c.line == l {
			c.set(false, nil)
			asked[name] = c.sharded
			came[kind[c.sharded]] = append(came[kind[c.sharded]], name)
		} else if sharded, ok := asked[name]; ok {
			delete(asked, name)
			left[kind[sharded]] = append(left[kind[sharded]], name)
		}
	}
	clear(l.todo)
	l.bus.mu.Unlock()
	return errors.Join(
		l.tell(came[0], askMost, pubsub.Subscribe),
		l.tell(came[1], 1, pubsub.SSubscribe), // their slots differ
		l.tell(left[0], askMost, pubsub.Unsubscribe),
		l.tell(left[1], 1, pubsub.SUnsubscribe),
	)
}

func (l *line) tell(names []string, most int, command func(context.Context, ...string) error) error {
	for part := range slices.Chunk(names, most) {
		if err := l.send(func(ctx context.Context) error { return command(ctx, part...) }); err != nil {
			return err
		}
	}
	return nil
}

// receive delivers what comes, until the connection breaks.
func (l *line) receive(pubsub *redis.PubSub) error {
	for {
		message, err := pubsub.ReceiveTimeout(l.life, silence)
		var answer redis.Error
		switch {
		case errors.As(err, &answer):
			l.refused(err) // which channel, it does not say
			continue
		case err != nil:
			return err
		}
		switch m := message.(type) {
		case *redis.Message:
			l.bus.deliver(m.Channel, m.Payload)
		case *redis.Subscription:
			l.confirmed(m)
		}
	}
}

// confirmed takes the server's word that it subscribed us, or that it ended a
// subscription of its own accord, since the slot went to another master.
func (l *line) confirmed(m *redis.Subscription) {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	c := l.bus.channels[m.Channel]
	switch {
	case c == nil || c.line != l:
	case m.Kind == "subscribe" || m.Kind == "ssubscribe":
		c.set(true, nil)
	case m.Kind == "sunsubscribe":
		c.set(false, nil)
		l.todo[c.name] = struct{}{} // with the next ping, if it is not elsewhere by then
	}
}

// refused makes who waits for a channel give up, and all that were not
// confirmed be asked for again with the next ping.
func (l *line) refused(err error) {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	for _, c := range l.bus.channels {
		if c.line == l && !c.heard {
			c.set(false, err)
			l.todo[c.name] = struct{}{}
		}
	}
}

// lost makes all channels of the line be asked for again.
func (l *line) lost(err error) {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	for _, c := range l.bus.channels {
		if c.line == l {
			c.set(false, err)
			l.todo[c.name] = struct{}{}
		}
	}
}
