package redisstore

import (
	"cmp"
	"fmt"
	"strings"
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

// Store implements [backend.Store]. All methods may be called concurrently. Its embedded parts have the
// methods, in files of their own.
type Store struct {
	cfg        Config
	ownsClient bool // Close closes it
	*fleet
	*watcher
	*bus
	*upkeep
}

var _ backend.Store = (*Store)(nil)

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
	l := &link{client: client, timeout: cfg.Timeout, clock: clock, servers: serverClock{began: time.Now()}, pace: newPace(), reads: newBreaker(cfg, server), writes: newBreaker(cfg, server)}
	keys := keyspace{cfg.Prefix}
	l.notes.keyspace = keys
	f := &fleet{link: l, keyspace: keys, index: newIndex(l, keys), logSize: cfg.LogSize, keepLog: keepLog}
	s := &Store{cfg: cfg, fleet: f, upkeep: &upkeep{fleet: f, progress: nodeProgress{upTo: generations.New[lapsedNode, presence.Topic](maxProgress, nil)}}}
	s.watcher = &watcher{fleet: f, pubsub: newPubsub(client, cfg.Timeout, l.pace), taps: make(map[*tap]struct{})}
	s.bus = &bus{fleet: f, watcher: s.watcher}
	return s
}

// Close ends the subscriptions. It waits for their goroutines and for calls that are under way, for
// [Config].Timeout at most. The Store does not use the client after that. Close also closes the client of a
// Store that [Open] made.
func (s *Store) Close() error {
	s.pubsub.close()
	s.reads.rest()
	s.writes.rest()
	if s.ownsClient {
		return s.client.Close()
	}
	return nil
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
	return "redis" + at + ", prefix " + s.prefix
}

// Stats implements [backend.Store].
func (s *Store) Stats() backend.StoreStats {
	stats := backend.StoreStats{Invalid: s.invalid.Load(), NoticesCut: s.cut.Load(), Commands: s.commands.Load(), Topics: int(s.index.size.Load())}
	s.reads.count(&stats)
	s.writes.count(&stats)
	return stats
}
