package redisstore

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Watch implements [presence.Store]. It costs one round trip where the topic is
// not watched here yet.
func (s *Store) Watch(ctx context.Context, topic presence.Topic, fn func(presence.Diff)) (func(), error) {
	return s.subscribe(ctx, "watch", s.channel(topic), func(message string) {
		id, text, _ := strings.Cut(message, " ")
		d, err := decodeDiff(id, text)
		if err != nil {
			s.invalid.Add(1) // it shows as a gap
			return
		}
		fn(d)
	})
}

// Listen implements [presence.Store].
func (s *Store) Listen(ctx context.Context, fn func(presence.Notice)) (func(), error) {
	return s.subscribe(ctx, "listen", s.notices(), func(message string) {
		var n presence.Notice
		if json.Unmarshal([]byte(message), &n) != nil {
			s.invalid.Add(1)
			return
		}
		fn(n)
	})
}

// subscribe is the bus's under the breaker. It heeds ctx by itself.
func (s *Store) subscribe(ctx context.Context, op, channel string, fn func(string)) (func(), error) {
	if !s.breaker.enter() {
		return nil, wrap(op, presence.ErrStoreOut)
	}
	bound, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	stop, err := s.bus.subscribe(bound, channel, s.sharded(bound), fn)
	return stop, wrap(op, s.breaker.leave(ctx, err))
}

// Notify implements [presence.Store].
func (s *Store) Notify(ctx context.Context, n presence.Notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return wrap("notify", err)
	}
	sharded := s.sharded(ctx)
	_, err = call(ctx, s, "notify", func(ctx context.Context) (int64, error) {
		if sharded {
			return s.client.SPublish(ctx, s.notices(), text).Result()
		}
		if cluster, ok := s.client.(*redis.ClusterClient); ok {
			// Any node would do, but only one keeps the order.
			master, err := cluster.MasterForKey(ctx, s.notices())
			if err != nil {
				return 0, err
			}
			return master.Publish(ctx, s.notices(), text).Result()
		}
		return s.client.Publish(ctx, s.notices(), text).Result()
	})
	return err
}

func (s *Store) channel(topic presence.Topic) string { return s.key(topic, "diffs") }

func (s *Store) notices() string { return s.cfg.Prefix + ":notices" }
