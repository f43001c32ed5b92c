package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// ErrUnfit is what [Store.Check] returns for a server that is too old or forbids
// what is needed. The text says what, and what to do.
var ErrUnfit = errors.New("the Redis server will not do")

// Check tells whether the server will do: by its version, and by doing once all
// that the store does, under keys of its own that it removes again. Call it at
// start. It returns [ErrUnfit], or an error that is [presence.ErrStoreOut] where
// the server cannot be reached; then the site may start all the same, and
// presence begins when the server is back. It costs about fifteen round trips.
//
// On a cluster it also decides how diffs are published: by sharded channels
// where the servers know those (Redis 7), else by ordinary ones. Without it,
// sharded channels are assumed.
func (s *Store) Check(ctx context.Context) error {
	var info string
	err := s.call(ctx, "check", func(ctx context.Context) (err error) {
		info, err = s.client.Info(ctx, "server").Result()
		return err
	})
	if errors.Is(err, presence.ErrStoreOut) {
		return err
	}
	if err == nil { // else INFO is forbidden, and nothing needs it
		version := field(info, "redis_version")
		if !atLeast(version, 6, 2) {
			return fmt.Errorf("%w: it is Redis %s, and 6.2 or newer is needed; update it, or use Valkey", ErrUnfit, version)
		}
		if s.bus.sharded {
			s.bus.sharded = atLeast(version, 7, 0)
		}
	}
	return s.rehearse(ctx)
}

// rehearse does all that the store does, once.
func (s *Store) rehearse(ctx context.Context) error {
	cfg := s.cfg
	cfg.Prefix += ":check:" + strconv.FormatUint(uint64(rand.Uint32()), 36)
	trial := New(s.client, cfg)
	trial.bus.sharded = s.bus.sharded
	defer trial.Close()
	defer trial.sweepUp(context.WithoutCancel(ctx))

	const topic = presence.Topic("check")
	stop, err := trial.Watch(ctx, topic, func(presence.Diff) {})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil { // a refusal comes as silence
		return fmt.Errorf("%w: it did not confirm a subscription; its user must be allowed to subscribe to channels that begin with the prefix", ErrUnfit)
	}
	if err != nil {
		return unfit("subscribing", err)
	}
	defer stop()
	user := presence.User{ID: "check"}
	op := func(kind presence.Kind, holder presence.Holder) presence.Op {
		return presence.Op{Kind: kind, User: user, Holder: holder, For: time.Second, Guest: "check"}
	}
	beats := []presence.Op{op(presence.OpHeartbeat, "a.1"), op(presence.OpHeartbeat, "a.2")}
	for _, ops := range [][]presence.Op{
		{op(presence.OpSeen, ""), op(presence.OpGuest, ""), op(presence.OpJoin, "a.1")}, beats, {op(presence.OpSignOut, "")},
	} {
		if err := trial.Apply(ctx, []presence.Batch{{Topic: topic, Ops: ops}})[0].Err; err != nil {
			return unfit("writing", err)
		}
	}
	_, err = trial.Sweep(ctx, 1)
	_, err2 := trial.Age(ctx, time.Millisecond)
	_, err3 := trial.Trim(ctx, time.Hour, 1)
	_, err4 := trial.Snapshot(ctx, topic)
	_, err5 := trial.Log(ctx, topic, "")
	_, err6 := trial.Counts(ctx, topic)
	_, err7 := trial.Sightings(ctx, topic, "check")
	return unfit("reading and sweeping", errors.Join(err, err2, err3, err4, err5, err6, err7,
		trial.Notify(ctx, presence.Notice{})))
}

// sweepUp removes what a rehearsal left.
func (s *Store) sweepUp(ctx context.Context) {
	_ = s.call(ctx, "check", func(ctx context.Context) error {
		keys := s.keys("check", topicKeys[:]...)
		for _, name := range []string{"due", "due:idle", "views", "views:idle", "seen"} {
			keys = append(keys, s.index.key(name))
		}
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, k := range keys {
				p.Del(ctx, k)
			}
			return nil
		})
		return err
	})
}

// unfit makes an error of the server's own one that is ErrUnfit.
func unfit(doing string, err error) error {
	var answer redis.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, presence.ErrStoreOut):
		return err
	case errors.As(err, &answer):
		return fmt.Errorf("%w: %s failed: %w; it must be Redis 6.2 or newer, or Valkey, and its user must be allowed all commands of strings, "+
			"hashes, sets, sorted sets, streams, HyperLogLogs, scripts and pub/sub, on the keys and channels that begin with the prefix", ErrUnfit, doing, answer)
	}
	return err
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
