package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Topics implements [backend.Store]. It costs one round trip for each 500 topics.
func (s *reader) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	var topics []presence.Topic
	for len(topics) < most {
		page := redis.ZRangeArgs{Key: s.indexKey("topics"), Start: "(" + string(after), Stop: "+", ByLex: true, Count: int64(min(most-len(topics), maxClaimed))}
		found, err := call(ctx, s.reads, "topics", func(ctx context.Context) ([]string, error) {
			return s.one().ZRangeArgs(ctx, page).Result()
		})
		if err != nil {
			return nil, err
		}
		for _, topic := range found {
			topics = append(topics, presence.Topic(topic))
		}
		if len(found) < int(page.Count) {
			break
		}
		after = topics[len(topics)-1]
	}
	return topics, nil
}
