package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Config is how a [Store] keeps its data. The zero value is usable.
type Config struct {
	Prefix  string        // of every key and channel. Default: "presence"
	Timeout time.Duration // of one call. Default: 2 s
	Trips   int           // calls that fail in a row before the next ones fail at once. Default: 3
	LogSize int           // diffs kept a topic, about. Default: 1,024
	Keep    time.Duration // how long the log of an empty topic stays. Default: 1 min

	// Clock replaces the server's own time, for tests. Default: nil.
	Clock func() time.Time
}

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "presence")
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Trips = cmp.Or(c.Trips, 3)
	c.LogSize = cmp.Or(c.LogSize, 1024)
	c.Keep = cmp.Or(c.Keep, time.Minute)
	return c
}

// Store implements [presence.Store]. All methods may be called concurrently.
type Store struct {
	client  redis.UniversalClient
	cfg     Config
	breaker *breaker
	index   *index
	bus     *bus
}

var _ presence.Store = (*Store)(nil)

// New returns a Store over the site's client, which stays the site's to close.
// It calls nothing, so it works while the server is out; [Store.Check] tells
// whether the server will do. Close the Store after the Tracker.
func New(client redis.UniversalClient, cfg Config) *Store {
	cfg = cfg.withDefaults()
	s := &Store{client: client, cfg: cfg, breaker: newBreaker(cfg.Trips, cfg.Timeout)}
	s.index = newIndex(s)
	s.bus = newBus(client)
	return s
}

// Close ends the subscriptions, and waits until no goroutine is left.
func (s *Store) Close() error { return s.bus.close() }

// sharded reports whether diffs go by sharded channels.
func (s *Store) sharded() bool { return s.bus.sharded }

func (s *Store) publish() string {
	if s.sharded() {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// topicKeys are the names of a topic's keys, in the order of lua/topic.lua.
var topicKeys = [...]string{"leases", "online", "holders", "users", "current", "old", "guests", "before", "aged", "seen", "log", "meta"}

func (s *Store) key(topic presence.Topic, name string) string {
	return s.cfg.Prefix + ":{" + string(topic) + "}:" + name
}

func (s *Store) keys(topic presence.Topic, names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = s.key(topic, name)
	}
	return keys
}

func (s *Store) channel(topic presence.Topic) string { return s.key(topic, "diffs") }

// now is ARGV[1] of every script: 0 for the server's own time (rule 4).
func (s *Store) now() int64 {
	if s.cfg.Clock == nil {
		return 0
	}
	return s.cfg.Clock().UnixMilli()
}

// localTime only measures how long ago this node did something.
func (s *Store) localTime() time.Time {
	if s.cfg.Clock == nil {
		return time.Now()
	}
	return s.cfg.Clock()
}

// topicArgs are the first arguments of scripts that begin with lua/topic.lua.
func (s *Store) topicArgs(topic presence.Topic) []any {
	return []any{s.now(), rand.Uint32(), s.publish(), s.channel(topic), s.cfg.Keep.Milliseconds(), s.cfg.LogSize}
}

// millis writes a duration for Lua.
func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func fromMillis(s string) time.Time {
	ms, _ := strconv.ParseInt(s, 10, 64)
	return time.UnixMilli(ms)
}

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisstore: %s: %w", op, err)
}

// call runs fn under the breaker and with the timeout.
func (s *Store) call(ctx context.Context, op string, fn func(context.Context) error) error {
	return wrap(op, s.breaker.do(ctx, fn))
}
