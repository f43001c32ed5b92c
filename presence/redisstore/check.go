package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// ErrUnfit is the error of [Store.Check] for a server that is too old, forbids a command
// that the store needs, or is of another kind than the client expects. The text says what is
// wrong and what to do.
var ErrUnfit = errors.New("unsuitable Redis server")

// Check returns an error unless the server is suitable. It reads the server's version, runs
// each command that the store needs, and does each operation once, under keys of its own
// that it removes again. Call it at start. The error is [ErrUnfit], or
// [presence.ErrStoreOut] if the server cannot be reached; then the site may start all the
// same, and presence begins when the server is back. It costs about fifteen round trips.
func (s *Store) Check(ctx context.Context) error {
	own := checker{s.fleet}
	info, err := call(ctx, s.writes, "check", func(ctx context.Context) (string, error) { return s.one().Info(ctx).Result() })
	if err == nil {
		err = own.checkInfo(info)
	}
	var answer redis.Error
	switch {
	case errors.As(err, &answer) && strings.Contains(answer.Error(), "cluster support disabled"):
		return fmt.Errorf("%w: it is no part of a cluster; give one address, without a comma", ErrUnfit)
	case errors.As(err, &answer) && strings.Contains(answer.Error(), noDatabase):
		return fmt.Errorf("%w: %s", ErrUnfit, s.writes.server.likely(err))
	case errors.As(err, &answer): // INFO is forbidden: the server counts as suitable
	case err != nil:
		return err
	}
	cfg := s.cfg
	cfg.Prefix += ":check:" + strconv.FormatUint(uint64(rand.Uint32()), 36)
	trial := New(s.client, cfg)
	defer trial.Close()
	defer checker{trial.fleet}.sweepUp(context.WithoutCancel(ctx))
	if err := (checker{trial.fleet}).checkCommands(ctx); err != nil {
		return err
	}
	if err := own.checkSchema(ctx); err != nil {
		return err
	}
	return rehearse(ctx, trial)
}

// A checker checks whether a server is suitable for a keyspace.
type checker struct{ *fleet }

// aclRule returns the ACL rule of the store's user, for the operator: it allows exactly what the store uses.
func (s checker) aclRule() string {
	names := []string{"hello", "auth", "select", "cluster|slots", "ping", "publish", "spublish", "subscribe", "unsubscribe", "ssubscribe", "sunsubscribe", "info"}
	for _, command := range commands {
		name, _, _ := strings.Cut(strings.ToLower(command), " ")
		names = append(names, name)
	}
	slices.Sort(names)
	return "ACL SETUSER presence on >PASSWORD resetkeys resetchannels -@all +" + strings.Join(slices.Compact(names), " +") + " ~" + s.sitePrefix() + "* &" + s.sitePrefix() + "*"
}

// checkSchema returns ErrUnfit if a newer version has written keys that this one cannot
// read. It writes nothing.
func (s checker) checkSchema(ctx context.Context) error {
	reader, err := call(ctx, s.writes, "check", func(ctx context.Context) (string, error) {
		answer := s.one().HMGet(ctx, s.metaKey(), "reader")
		return first(answer), answer.Err()
	})
	if err != nil {
		return unfit("reading", err)
	}
	return checkReader(reader)
}

// checkInfo checks the version and the kind of a server, and which keys it evicts.
//
// A server that may evict any key when its memory is full is refused: if a topic loses one of its keys, users
// come and go unnoticed. A policy that evicts only keys with a time to live is fine. Such keys are the figures
// of page views and guests, recent users' names, and the log of an empty topic. Without them a number is too
// low for a while, names are missing, or a page gets a state.
func (s checker) checkInfo(info string) error {
	_, cluster := s.client.(*redis.ClusterClient)
	version, mode, policy := field(info, "redis_version"), field(info, "redis_mode"), field(info, "maxmemory_policy")
	switch {
	case version != "" && !atLeast(version, 6, 2):
		return fmt.Errorf("%w: it is Redis %s, and 6.2 or newer is needed; update it, or use Valkey", ErrUnfit, version)
	case mode == "sentinel":
		return fmt.Errorf("%w: it is a Sentinel, which keeps no data; give the address of a server, or a client made by NewFailoverClient", ErrUnfit)
	case mode == "cluster" && !cluster:
		return fmt.Errorf("%w: it is a node of a cluster; give several of its addresses with commas between, or this one and a comma", ErrUnfit)
	case strings.HasPrefix(policy, "allkeys-"):
		return fmt.Errorf("%w: its maxmemory-policy is %s, which drops users who are online when its memory is full; "+
			"set it to noeviction, or give presence a server of its own", ErrUnfit, policy)
	}
	return nil
}

// commands are those that the store needs, with harmless arguments: {k:…} stands for a key of that name. The
// Lua files and the Go files use no others. Redis 6.2 is the oldest version that has all of them: ZMSCORE,
// SMISMEMBER, ZADD with GT and XRANGE with "(" are new in it.
var commands = []string{
	"TIME",
	"SET k:string 0", "SET k:string 0 KEEPTTL", "SET k:string 0 NX PX 60000", "GET k:string", "EXISTS k:string", "PEXPIRE k:string 60000", "PTTL k:string", "RENAME k:string k:renamed",
	"UNLINK k:renamed", "DEL k:renamed",
	"HSET k:hash f v", "HSETNX k:hash f v", "HGET k:hash f", "HMGET k:hash f", "HGETALL k:hash", "HLEN k:hash", "HSCAN k:hash 0", "HINCRBY k:hash n 1", "HDEL k:hash f",
	"SADD k:set m", "SCARD k:set", "SISMEMBER k:set m", "SMISMEMBER k:set m", "SSCAN k:set 0", "SREM k:set m",
	"ZADD k:zset 1 m", "ZADD k:zset XX GT CH 1 m", "ZSCORE k:zset m", "ZMSCORE k:zset m", "ZCARD k:zset", "ZCOUNT k:zset 0 1", "ZRANGE k:zset 0 1", "ZRANK k:zset m",
	"ZRANGEBYSCORE k:zset 0 1", "ZSCAN k:zset 0", "ZREM k:zset m", "ZREMRANGEBYRANK k:zset 0 1",
	"XADD k:stream 1-1 d v", "XRANGE k:stream - +", "XRANGE k:stream (0-1 +", "XLEN k:stream", "XTRIM k:stream MAXLEN 100", "XREVRANGE k:stream + -",
	"PFADD k:guests m", "PFCOUNT k:guests",
	"EVAL 0 1 k:string", "EVALSHA 0 1 k:string",
}

func (s checker) checkCommands(ctx context.Context) error {
	needed := append(commands[:len(commands):len(commands)], "PUBLISH c 0")
	if s.sharded(ctx) {
		needed[len(needed)-1] = "SPUBLISH c 0"
	}
	answers, err := call(ctx, s.writes, "check", func(ctx context.Context) ([]*redis.Cmd, error) {
		answers := make([]*redis.Cmd, len(needed))
		err := s.pipelined(ctx, func(p redis.Pipeliner) {
			for i, command := range needed {
				var args []any
				for word := range strings.FieldsSeq(command) {
					if name, ok := strings.CutPrefix(word, "k:"); ok {
						word = s.key("check", name)
					} else if word == "c" {
						word = s.channel("check")
					}
					args = append(args, word)
				}
				answers[i] = p.Do(ctx, args...)
			}
		})
		var answer redis.Error
		if errors.As(err, &answer) && !says(answer, unable...) {
			err = nil // other errors concern one command
		}
		return answers, err
	})
	if err != nil {
		return err
	}
	var forbidden, unknown []string
	for i, a := range answers {
		name, _, _ := strings.Cut(needed[i], " ")
		switch {
		case redis.HasErrorPrefix(a.Err(), "NOPERM"):
			forbidden = append(forbidden, name)
		case a.Err() != nil && strings.Contains(strings.ToLower(a.Err().Error()), "unknown command"):
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: it does not know %s; do not rename or remove these in its configuration", ErrUnfit, strings.Join(unknown, ", "))
	}
	if len(forbidden) > 0 {
		return fmt.Errorf("%w: its user may not use %s on keys and channels that begin with %q; allow that: ACL SETUSER <user> +%s ~%s* &%[5]s*; all that it needs: %s",
			ErrUnfit, strings.Join(forbidden, ", "), s.sitePrefix(), strings.ToLower(strings.Join(forbidden, " +")), s.sitePrefix(), s.aclRule())
	}
	return nil
}

// sitePrefix returns the site's prefix from that of a trial.
func (s checker) sitePrefix() string {
	prefix, _, _ := strings.Cut(s.prefix, ":check:")
	return prefix
}

// rehearse runs each operation of a store once.
func rehearse(ctx context.Context, s *Store) error {
	const topic = presence.Topic("check")
	stop, err := s.Watch(ctx, topic, backend.Watcher{Diff: func(backend.Diff) {}})
	if err != nil {
		return unfit("subscribing to a channel", err)
	}
	defer stop()
	user := presence.User{ID: "check"}
	op := func(kind backend.OpKind, holder presence.Holder) backend.Op {
		return backend.Op{Kind: kind, User: user, Holder: holder, For: time.Second, Guest: "check"}
	}
	for _, ops := range [][]backend.Op{
		{op(backend.OpSeen, ""), op(backend.OpGuest, ""), op(backend.OpJoin, "a.1")},
		{op(backend.OpHeartbeat, "a.1"), op(backend.OpHeartbeat, "a.2")},
		{op(backend.OpKeep, "a.1"), op(backend.OpUpdate, ""), op(backend.OpRelease, "a.2")},
		{{Kind: backend.OpBot, Guest: "check", Bot: "check", For: time.Second}, op(backend.OpPeak, "")},
		{op(backend.OpForgetGuest, ""), op(backend.OpSignOff, ""), op(backend.OpSignOut, "")},
	} {
		keep := presence.Keep{Names: 1, Active: true, Peak: true, PeakGuests: true}
		if err := s.Apply(ctx, []backend.Batch{{Topic: topic, Ops: ops, Keep: keep}})[0].Err; err != nil {
			return unfit("writing", err)
		}
	}
	errs := []error{s.Publish(ctx, backend.LeaveNotice("", "check")), s.Publish(ctx, backend.SignOutNotice("check"))}
	try := func(_ any, err error) { errs = append(errs, err) }
	try(s.Sweep(ctx, backend.SweepOptions{Limit: 1}))
	try(s.Age(ctx, time.Millisecond))
	try(s.Trim(ctx, time.Hour, 1))
	try(s.Snapshot(ctx, topic))
	try(s.Log(ctx, topic, ""))
	try(s.Counts(ctx, topic))
	try(s.Sightings(ctx, topic, "check"))
	try(s.Recent(ctx, topic, backend.RecentQuery{Limit: 1}))
	try(s.Recent(ctx, topic, backend.RecentQuery{Users: []presence.UserID{user.ID}}))
	try(s.Topics(ctx, "", 1))
	try(s.Inspect(ctx, topic, "", 1))
	try(s.PutStatus(ctx, "check", backend.ChosenStatus{Status: presence.Busy}, false))
	try(s.Statuses(ctx, "check"))
	try(s.Secret(ctx, []byte("check")))
	stopListening, err := s.Listen(ctx, func(backend.Notice) {})
	if err == nil {
		try(s.Poll(ctx, backend.Poll{}))
		stopListening()
	}
	errs = append(errs, err)
	return unfit("reading and sweeping", errors.Join(errs...))
}

// sweepUp removes the keys of a trial. A cluster takes a command for keys of one slot only.
func (s checker) sweepUp(ctx context.Context) {
	keys := s.keys("check", append(topicKeys[:], "string", "renamed", "hash", "set", "zset", "stream")...)
	keys = append(append(keys, s.sharedKeys()...), s.indexKey("unnoted"), s.metaKey())
	_ = s.send(ctx, s.writes, "check", func(ctx context.Context, p redis.Pipeliner) {
		for _, key := range keys {
			p.Del(ctx, key)
		}
	})
}

// unfit wraps an error that the server answered in ErrUnfit.
func unfit(doing string, err error) error {
	var answer redis.Error
	if err == nil || errors.Is(err, presence.ErrStoreOut) || !errors.As(err, &answer) {
		return err
	}
	return fmt.Errorf("%w: %s failed: %w; it must be Redis 6.2 or newer, or Valkey, and allow its user scripts, keys and channels that begin with the prefix",
		ErrUnfit, doing, answer)
}

func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// atLeast compares versions such as 7.0.15.
func atLeast(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	return err == nil && (a > major || a == major && b >= minor)
}
