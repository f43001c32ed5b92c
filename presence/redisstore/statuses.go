package redisstore

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// statusKeys are the chosen statuses by user, and when they were chosen.
func (s *Store) statusKeys() []string {
	return []string{s.notices() + ":statuses", s.notices() + ":chosen"}
}

// Statuses implements [presence.Store].
func (s *Store) Statuses(ctx context.Context, users ...presence.UserID) ([]presence.Status, error) {
	statuses := make([]presence.Status, len(users))
	if len(users) == 0 {
		return statuses, nil
	}
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	ids := make([]string, len(users))
	for i, id := range users {
		ids[i] = string(id)
	}
	chosen, err := call(ctx, s.reads, "statuses", func(ctx context.Context) ([]any, error) {
		return s.one().HMGet(ctx, s.statusKeys()[0], ids...).Result()
	})
	if err != nil {
		return nil, err
	}
	for i, status := range chosen[:min(len(chosen), len(statuses))] {
		text, _ := status.(string)
		if chosen, err := presence.ParseStatus(text); err == nil {
			statuses[i] = chosen
		}
	}
	return statuses, nil
}
