package redisstore

import (
	"context"
	"strings"

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

// subscribe is the bus's under the breaker. It heeds ctx by itself.
func (s *Store) subscribe(ctx context.Context, op, channel string, fn func(string)) (func(), error) {
	if !s.reads.enter() {
		return nil, wrap(op, presence.ErrStoreOut)
	}
	bound, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	stop, err := s.bus.subscribe(bound, channel, s.sharded(bound), fn)
	return stop, wrap(op, s.reads.leave(ctx, err))
}

func (s *Store) channel(topic presence.Topic) string { return s.key(topic, "diffs") }
