package redisstore

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// Topics implements [presence.Store]. It costs one round trip for each 500 topics. Topics
// of nodes of the version before are in it once a node of this version has written to them.
func (s *Store) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	var topics []presence.Topic
	keys := []string{s.index.key("topics"), s.index.key("due"), s.index.key("views")}
	for len(topics) < most {
		answer, err := s.runOne(ctx, s.reads, "topics", eval{indexTopicsScript, keys, []any{string(after), min(most-len(topics), maxClaimed)}})
		if err != nil {
			return nil, err
		}
		r, err := answer.Slice()
		if err != nil || len(r) < 2 {
			return nil, wrap("topics", errAnswer)
		}
		found, _ := r[0].([]any)
		for _, topic := range found {
			if name, ok := topic.(string); ok {
				topics = append(topics, presence.Topic(name))
			}
		}
		last, _ := r[1].(string)
		if last == "" {
			break
		}
		after = presence.Topic(last)
	}
	return topics, nil
}
