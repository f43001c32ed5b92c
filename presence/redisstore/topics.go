package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Topics implements [backend.Store]. It costs one round trip for each 500 topics.
func (s *fleet) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	var topics []presence.Topic
	for len(topics) < most {
		page := redis.ZRangeArgs{Key: s.indexKey("topics"), Start: "(" + string(after), Stop: "+", ByLex: true, Count: int64(min(most-len(topics), maxClaimed))}
		var found *redis.StringSliceCmd
		err := s.send(ctx, s.reads, "topics", func(ctx context.Context, p redis.Pipeliner) { found = p.ZRangeArgs(ctx, page) })
		if err != nil {
			return nil, err
		}
		for _, topic := range found.Val() {
			topics = append(topics, presence.Topic(topic))
		}
		if len(found.Val()) < int(page.Count) {
			break
		}
		after = topics[len(topics)-1]
	}
	return topics, nil
}
