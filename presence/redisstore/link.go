package redisstore

import (
	"context"
	"errors"
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

// LastOut implements [backend.Store].
func (l *link) LastOut() time.Time {
	read, written := l.reads.outAt(), l.writes.outAt()
	if written.After(read) {
		return written
	}
	return read
}
