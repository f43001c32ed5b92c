package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A link sends commands and scripts to the server, and counts them. breaker.go makes calls fail while the
// server is out, scripts.go runs scripts, slots.go divides them on a cluster.
type link struct {
	client  redis.UniversalClient
	notes   changeNotes
	timeout time.Duration
	clock   func() time.Time // for tests; nil: the server's own time
	servers serverClock
	pace    *pace

	reads  *breaker
	writes *breaker
	mode   atomic.Int32 // whether messages are published plain or sharded; zero until known
	apart  atomic.Bool  // a client for one server has turned out to have a cluster behind it: slots.go

	invalid  atomic.Uint64 // messages that could not be read
	commands atomic.Uint64 // sent to the server
}

// How messages are published.
const (
	plain   = 1
	sharded = 2 // on a cluster whose servers all support it (Redis 7): a message goes to one shard instead of all
)

// one returns the client for a single command, and counts that. Most commands use pipelined instead.
func (l *link) one() redis.UniversalClient {
	l.commands.Add(1)
	return l.client
}

// now returns ARGV[1] of every script: 0 stands for the server's own time (rule 4), which pipe bounds.
func (l *link) now() int64 {
	if l.clock == nil {
		return 0
	}
	return l.clock().UnixMilli()
}

// localTime is this node's time. It is used only to measure how long ago the node did something.
func (l *link) localTime() time.Time {
	if l.clock == nil {
		return time.Now()
	}
	return l.clock()
}

// sharded reports whether messages are sent on sharded channels. It asks the cluster once, and returns true
// until the cluster has answered.
func (l *link) sharded(ctx context.Context) bool {
	cluster, ok := l.client.(*redis.ClusterClient)
	if !ok || l.mode.Load() == plain {
		return false
	}
	if l.mode.Load() == sharded {
		return true
	}
	all7, err := call(ctx, l.writes, "ask for the version", func(ctx context.Context) (bool, error) {
		var old atomic.Bool
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			l.commands.Add(1)
			info, err := master.Info(ctx, "server").Result()
			if err == nil && !atLeast(field(info, "redis_version"), 7, 0) {
				old.Store(true)
			}
			return err
		})
		return !old.Load(), err
	})
	var answer redis.Error
	switch {
	case err != nil && !errors.As(err, &answer):
		return true
	case err != nil, all7: // with err, the server does not say
		l.mode.Store(sharded)
	default:
		l.mode.Store(plain)
	}
	return l.mode.Load() == sharded
}

// publish returns the command by which Lua publishes messages.
func (l *link) publish() string {
	if _, ok := l.client.(*redis.ClusterClient); ok && l.mode.Load() != plain {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// A pace is how often this node asks whether its connections live: about once a second while the node is used. It follows
// a topic, or in the last minute it wrote something or lost a connection. A node that nobody uses asks every ten seconds.
type pace struct {
	began time.Time
	last  atomic.Int64 // when the node was last used, in nanoseconds since began
}

const (
	restsAfter = time.Minute
	restPing   = 10 * time.Second
)

func newPace() *pace { return &pace{began: time.Now()} }

// used notes that the node is used.
func (p *pace) used() { p.last.Store(int64(time.Since(p.began))) }

// rests reports whether nobody uses the node.
func (p *pace) rests() bool { return time.Since(p.began)-time.Duration(p.last.Load()) > restsAfter }

// or returns busy, or quiet if nobody uses the node.
func (p *pace) or(busy, quiet time.Duration) time.Duration {
	if p.rests() {
		return quiet
	}
	return busy
}

// A server that hung, or was unreachable, also executes calls that their callers have given up. So each
// script contains the latest moment at which it may begin, by the server's clock (rule 4): the deadline of
// its call's context. If the server begins later, the script changes nothing and answers "LATE <its time,
// ms>".

// A serverClock is what this node knows of the servers' clocks. It may think a clock is ahead of its true
// time, by as long as a call takes, but never behind. So a server does not refuse a call that is in time.
type serverClock struct {
	began time.Time // with the store: the clock counts from here

	mu    sync.Mutex
	heard time.Duration // how far the clock of the server with the notices was ahead, at its latest answer; 0: it has not answered
	ahead time.Duration // how far the clock of another server was ahead, which refused a call that was in time
	since time.Time     // when ahead was learned
}

// aheadFor is how long ahead counts. After that, the server may refuse a call again.
const aheadFor = 10 * time.Minute

// told returns how far a server's clock is ahead of this node's, at most. The server answered now to a call
// that was made at sent.
func (c *serverClock) told(now int64, sent time.Time) time.Duration {
	return time.Duration(now)*time.Millisecond - sent.Sub(c.began)
}

// hears notes the time, in Unix ms, that the server with the notices answered.
func (c *serverClock) hears(now int64, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = c.told(now, sent)
}

// refused handles the answer of a server that refused a call. It reports whether the call was too late by
// that server's clock.
func (c *serverClock) refused(err error, sent time.Time) bool {
	if err == nil {
		return false
	}
	text, late := strings.CutPrefix(err.Error(), "LATE ")
	now, bad := strconv.ParseInt(text, 10, 64)
	if !late || bad != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead, c.since = c.told(now, sent), time.Now()
	return true
}

// last returns ARGV[1] for a script that may begin while ctx lasts: see lua/time.lua.
func (c *serverClock) last(ctx context.Context) int64 {
	ends, bound := ctx.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bound || c.heard == 0 {
		return 0
	}
	ahead := c.heard
	if time.Since(c.since) < aheadFor {
		ahead = max(ahead, c.ahead)
	}
	return -(ends.Sub(c.began) + ahead).Milliseconds()
}
