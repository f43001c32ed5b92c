package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// topicKeys are the names of a topic's keys, in the order of lua/topic.lua.
var topicKeys = [...]string{"leases", "users", "hidden", "current", "old", "guests", "before", "aged", "seen", "log", "head", "count", "listed", "lately", "names", "signed", "peak", "bots", "memory", "memory:old"}

// A keyspace makes the names of the keys and channels with one prefix. The hash tag of a topic's keys is the
// topic's name. The store's own keys have tags with a byte that no topic has: ~, or = before a consumer's name.
type keyspace struct{ prefix string }

func (k keyspace) key(topic presence.Topic, name string) string {
	return k.prefix + ":{" + string(topic) + "}:" + name
}

func (k keyspace) keys(topic presence.Topic, names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = k.key(topic, name)
	}
	return keys
}

// topicOf returns the topic of a key.
func (k keyspace) topicOf(key string) presence.Topic {
	topic, _, _ := strings.Cut(key[len(k.prefix)+len(":{"):], "}")
	return presence.Topic(topic)
}

// indexKey returns the name of a key that the whole fleet shares. All of these are in one slot, so that a node polls by one
// script.
func (k keyspace) indexKey(name string) string { return k.key("~index", name) }

func (k keyspace) indexKeys(names ...string) []string { return k.keys("~index", names...) }

func (k keyspace) metaKey() string { return k.indexKey("fleet") }

// formerMetaKey is where versions before 4 look for the hash. It tells them that they cannot read what is written.
func (k keyspace) formerMetaKey() string { return k.key("~meta", "fleet") }

func (k keyspace) consumerKey(consumer string) string {
	return k.prefix + ":{=consumer:" + consumer + "}:record"
}

// consumersKey is the key of the set of consumers that have or had a record.
func (k keyspace) consumersKey() string { return k.key("~consumers", "names") }

// erasureKeys are the keys of the promised erasures, and of when each may be claimed.
func (k keyspace) erasureKeys() []string { return k.indexKeys("erasures", "erasures:due") }

// noticeLog are the keys of the log of notices, and of the log's random name, which is lost if the store is
// wiped.
func (k keyspace) noticeLog() []string { return k.indexKeys("notices", "notices:epoch") }

// live is the name of the notices' channel without the keyspace's id.
func (k keyspace) live() string { return k.indexKey("live") }

// statusKeys are the keys of the chosen statuses by user, and of their revisions.
func (k keyspace) statusKeys() []string { return k.indexKeys("statuses", "chosen") }

// sharedKeys are the keys of the fleet that stay while a node runs, beside those of topics and consumers.
func (k keyspace) sharedKeys() []string {
	return slices.Concat(k.noticeLog(), k.statusKeys(), k.erasureKeys(), []string{k.consumersKey()},
		k.indexKeys("due", "due:idle", "views", "views:idle", "topics", "seen", "changed", "nodes", "terms", "sweeps"))
}

// channel is the name of a topic's channel without the keyspace's id.
func (k keyspace) channel(topic presence.Topic) string { return k.key(topic, "diffs") }

// What the store says of its keyspace as a whole stands in one hash,
// presence:{~index}:fleet.
//
//	id      a random name of the keyspace, in every channel's name: Redis tells
//	        messages to all databases alike, and a copy keeps its original's keys
//	schema  the newest version that writes here
//	reader  the oldest version that can read what is written
//	secret  the fleet's secret (rule 10)
//
// A version that writes what an older one cannot read raises reader before it does,
// and then only older nodes refuse to go on. A version that writes what older ones
// read wrongly, but need not read, says so in its messages: see messageVersion.
const (
	// schema is this version.
	schema = 6
	// oldestReader is the oldest version that can read what this one writes.
	oldestReader = 6
	// messageVersion is the version in diffs and notices. A message of a newer version counts as lost.
	messageVersion = 1
)

// ready returns nil once the keyspace is known. That costs one round trip at the first call, and nothing
// later. The error is ErrUnfit if a newer version has written what this one cannot read.
func (s *fleet) ready(ctx context.Context, b *breaker) error {
	s.sharded(ctx)
	if s.id.Load() != nil {
		return nil
	}
	_, err := s.readFleet(ctx, b, "begin", nil)
	return err
}

// Secret implements [backend.Store].
func (s *fleet) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	return s.readFleet(ctx, s.writes, "secret", offer)
}

// readFleet reads the hash, offers a secret, and returns the one that counts.
func (s *fleet) readFleet(ctx context.Context, b *breaker, op string, offer []byte) ([]byte, error) {
	type answer struct {
		secret []byte
		made   bool
	}
	a, err := call(ctx, b, op, func(ctx context.Context) (a answer, err error) {
		evals := []eval{{metaScript, []string{s.metaKey()}, s.metaArgs(offer)}}
		if s.id.Load() == nil {
			evals = append(evals, eval{metaFormerScript, []string{s.formerMetaKey()}, []any{oldestReader}})
		}
		answers, err := s.run(ctx, evals...)
		if err != nil {
			return a, err
		}
		parts, err := answers[0].Slice()
		if err == nil {
			a.secret, a.made, err = s.readMeta(parts)
		}
		return a, err
	})
	if err == nil && a.made {
		err = s.isNew(ctx)
	}
	return a.secret, err
}

// metaArgs are what the hash gets if it is missing: what this node knows.
func (s *fleet) metaArgs(offer []byte) []any {
	id := s.id.Load()
	if id == nil {
		random := strings.ToLower(rand.Text())
		id = &random
	}
	if known := s.secret.Load(); known != nil {
		offer = *known
	}
	return []any{*id, schema, oldestReader, offer}
}

// errAnswer is the error for an answer that is not what the script returns.
var errAnswer = errors.New("the server's answer cannot be read: it may be no Redis")

// readMeta stores the hash's content, which is the first part of an answer. It returns the secret, and whether the hash was missing.
func (s *fleet) readMeta(parts []any) (secret []byte, made bool, err error) {
	r, err := textsOf(parts, 0, 4)
	if err != nil {
		return nil, false, err
	}
	id, reader := r[0], r[1]
	made = r[3] == "1"
	if err := checkReader(reader); err != nil {
		s.id.Store(nil)
		return nil, false, err
	}
	if r[2] != "" {
		secret = []byte(r[2])
		s.secret.Store(&secret)
	}
	known := s.id.Swap(&id)
	if known != nil && (made || *known != id) {
		s.index.forgetAll() // the store lost its data
	}
	return secret, made, nil
}

// checkReader returns an error unless this version may read the store. reader is empty if no version
// restricts that.
func checkReader(reader string) error {
	if n, err := strconv.Atoi(reader); reader == "" || err == nil && n <= schema {
		return nil
	}
	return fmt.Errorf("%w: a newer version of this library writes to it, in a form that versions from %q on can read, and this is version %d; update this node",
		ErrUnfit, reader, schema)
}

// place returns the end of every channel's name.
func (s *fleet) place() string {
	id := s.id.Load()
	if id == nil {
		return ""
	}
	return ":" + *id + "." + strconv.Itoa(database(s.client))
}

// database returns the number of the client's database. A cluster has only one. For a client of another kind
// the keyspace's id must be enough.
func database(client redis.UniversalClient) int {
	if c, ok := client.(interface{ Options() *redis.Options }); ok {
		return c.Options().DB
	}
	return 0
}
