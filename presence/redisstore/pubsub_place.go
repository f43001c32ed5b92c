package redisstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// routeEvery is how often the master of each sharded channel is looked up.
const routeEvery = time.Second

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
	channels := slices.Collect(maps.Keys(p.unplaced))
	for _, c := range p.channels {
		if all && c.sharded && c.conn != nil {
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
			delete(p.unplaced, c)
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
