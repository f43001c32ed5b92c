package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// Config is how a [Store] keeps its data. The zero value is usable.
type Config struct {
	Prefix      string        // of every key and channel. Default: "presence"
	Timeout     time.Duration // of one call. Default: 2 s
	MaxFailures int           // calls that fail in a row before the next ones fail at once. Default: 3
	LogSize     int           // diffs kept a topic, about: as many as track.Config.LogSize. Default: 1,024
}

// keepLog is how long the log of an empty topic stays.
const keepLog = time.Minute

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "presence")
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.MaxFailures = cmp.Or(c.MaxFailures, 3)
	c.LogSize = cmp.Or(c.LogSize, 1024)
	return c
}

// Store implements [backend.Store]. All methods may be called concurrently.
type Store struct {
	client     redis.UniversalClient
	ownsClient bool // Close closes it
	cfg        Config

	clock   func() time.Time // of tests; nil: the server's own time
	keepLog time.Duration    // keepLog, and less in tests

	reads  *breaker
	writes *breaker
	index  *index
	pubsub *pubsub
	mode   atomic.Int32 // of publishing: plain or sharded, zero until it is known
	apart  atomic.Bool  // a client for one server turned out to have a cluster behind it: slots.go
	meta   meta
	taps   taps
	veiled veiled
	swept  nodeProgress
	rest   rest

	listeners listeners
	invalid   atomic.Uint64 // messages that could not be read
	cut       atomic.Uint64 // notices dropped before their time
	commands  atomic.Uint64 // sent to the server
}

var (
	_ backend.Store          = (*Store)(nil)
	_ backend.StatsStore     = (*Store)(nil)
	_ backend.OutageReporter = (*Store)(nil)
)

// New returns a Store over the site's client, which the site closes itself. New makes no
// call, so it works while the server is out; [Store.Check] checks the server. Close the
// Store after the Tracker.
func New(client redis.UniversalClient, cfg Config) *Store {
	cfg = cfg.withDefaults()
	var clock func() time.Time
	if c, ok := client.(storeclock.Client); ok {
		client, clock = c.UniversalClient, c.Now
	}
	server := endpointOf(client)
	s := &Store{client: client, cfg: cfg, clock: clock, keepLog: keepLog, reads: newBreaker(cfg, server), writes: newBreaker(cfg, server)}
	s.swept.upTo = generations.New[lapsedNode, presence.Topic](maxProgress, nil)
	s.index = newIndex(s)
	s.taps.all = make(map[*tap]struct{})
	s.pubsub = newPubsub(client, cfg.Timeout)
	return s
}

// Close ends the subscriptions, and waits for their goroutines. It closes the client of a Store
// that [Open] made.
func (s *Store) Close() error {
	err := s.pubsub.close()
	if s.ownsClient {
		err = errors.Join(err, s.client.Close())
	}
	return err
}

// String returns where the data is, without a password: "redis 127.0.0.1:6379/0, prefix presence".
func (s *Store) String() string {
	at := ""
	switch client := s.client.(type) {
	case *redis.Client:
		at = fmt.Sprintf(" %s/%d", client.Options().Addr, client.Options().DB)
	case *redis.ClusterClient:
		at = " cluster " + strings.Join(client.Options().Addrs, ",")
	}
	return "redis" + at + ", prefix " + s.cfg.Prefix
}

// Stats implements [backend.StatsStore].
func (s *Store) Stats() backend.StoreStats {
	stats := backend.StoreStats{Invalid: s.invalid.Load(), NoticesCut: s.cut.Load(), Commands: s.commands.Load(), Topics: int(s.index.size.Load())}
	for _, b := range []*breaker{s.reads, s.writes} {
		b.mu.Lock()
		stats.BreakerOpen = stats.BreakerOpen || b.failed >= b.trips
		stats.Broken += b.broken
		stats.Refused += b.refused
		stats.Failed += b.failures
		stats.Congested += b.congested
		b.mu.Unlock()
	}
	return stats
}

// LastOut implements [backend.OutageReporter].
func (s *Store) LastOut() (last time.Time) {
	for _, b := range []*breaker{s.reads, s.writes} {
		b.mu.Lock()
		if b.lastOut.After(last) {
			last = b.lastOut
		}
		b.mu.Unlock()
	}
	return last
}

// one returns the client for one command, and counts that. Most commands go by pipelined.
func (s *Store) one() redis.UniversalClient {
	s.commands.Add(1)
	return s.client
}

// topicKeys are the names of a topic's keys, in the order of lua/topic.lua.
var topicKeys = [...]string{"leases", "users", "hidden", "current", "old", "guests", "before", "aged", "seen", "log", "head", "count", "listed", "lately", "names"}

// moreKeys are those that lua/apply.lua needs besides, where a topic keeps more.
var moreKeys = [...]string{"peak", "bots"}

func (s *Store) key(topic presence.Topic, name string) string {
	return s.cfg.Prefix + ":{" + tag(topic) + "}:" + name
}

// tag returns the hash tag of a topic's keys: mostly its name. The store itself uses the
// tags of presence:{index}:… and presence:{notices}:…, so topics of these names get tags that
// no topic can have as its name.
func tag(topic presence.Topic) string {
	if topic == "index" || topic == "notices" {
		return "=" + string(topic)
	}
	return string(topic)
}

func (s *Store) keys(topic presence.Topic, names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = s.key(topic, name)
	}
	return keys
}

// now is ARGV[1] of every script: 0 for the server's own time (rule 4).
func (s *Store) now() int64 {
	if s.clock == nil {
		return 0
	}
	return s.clock().UnixMilli()
}

// localTime is this node's time. It only serves to measure how long ago the node did
// something.
func (s *Store) localTime() time.Time {
	if s.clock == nil {
		return time.Now()
	}
	return s.clock()
}

// topicArgs are the first arguments of scripts that begin with lua/topic.lua.
func (s *Store) topicArgs(topic presence.Topic) []any {
	return []any{
		s.now(), rand.Uint32(), s.publish(), s.channel(topic) + s.place(),
		s.keepLog.Milliseconds(), s.cfg.LogSize, messageVersion,
	}
}

// How messages are published.
const (
	plain   = 1
	sharded = 2 // on a cluster whose servers all know it (Redis 7): a message goes to one shard, not to all
)

// sharded reports whether messages go by sharded channels. It asks the cluster once, and
// returns true until the cluster has answered.
func (s *Store) sharded(ctx context.Context) bool {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok || s.mode.Load() == plain {
		return false
	}
	if s.mode.Load() == sharded {
		return true
	}
	all7, err := call(ctx, s.writes, "ask for the version", func(ctx context.Context) (bool, error) {
		var old atomic.Bool
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			s.commands.Add(1)
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
	case err != nil, all7: // or it does not say
		s.mode.Store(sharded)
	default:
		s.mode.Store(plain)
	}
	return s.mode.Load() == sharded
}

// publish returns the command with which Lua publishes messages.
func (s *Store) publish() string {
	if _, ok := s.client.(*redis.ClusterClient); ok && s.mode.Load() != plain {
		return "SPUBLISH"
	}
	return "PUBLISH"
}
