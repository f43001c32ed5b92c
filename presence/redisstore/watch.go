package redisstore

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Watch implements [presence.Store].
func (s *Store) Watch(ctx context.Context, topic presence.Topic, fn func(presence.Diff)) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	stop, err := s.bus.subscribe(ctx, s.channel(topic), s.sharded(), func(message string) {
		id, text, _ := strings.Cut(message, " ")
		if d, err := decodeDiff(id, text); err == nil {
			fn(d)
		} // else it shows as a gap
	})
	return stop, wrap("watch", err)
}

func (s *Store) notices() string { return s.cfg.Prefix + ":notices" }

// Notify implements [presence.Store].
func (s *Store) Notify(ctx context.Context, n presence.Notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return wrap("notify", err)
	}
	return s.call(ctx, "notify", func(ctx context.Context) error {
		if s.sharded() {
			return s.client.SPublish(ctx, s.notices(), text).Err()
		}
		if cluster, ok := s.client.(*redis.ClusterClient); ok {
			// Any node would do, but only one keeps the order.
			master, err := cluster.MasterForKey(ctx, s.notices())
			if err != nil {
				return err
			}
			return master.Publish(ctx, s.notices(), text).Err()
		}
		return s.client.Publish(ctx, s.notices(), text).Err()
	})
}

// Listen implements [presence.Store].
func (s *Store) Listen(ctx context.Context, fn func(presence.Notice)) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	stop, err := s.bus.subscribe(ctx, s.notices(), s.sharded(), func(message string) {
		var n presence.Notice
		if json.Unmarshal([]byte(message), &n) == nil {
			fn(n)
		}
	})
	return stop, wrap("listen", err)
}
