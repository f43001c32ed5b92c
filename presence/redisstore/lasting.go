package redisstore

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// Statuses implements [presence.Store].
func (s *Store) Statuses(ctx context.Context, users ...presence.UserID) ([]presence.Status, error) {
	statuses := make([]presence.Status, len(users))
	if len(users) == 0 {
		return statuses, nil
	}
	ids := make([]string, len(users))
	for i, id := range users {
		ids[i] = string(id)
	}
	chosen, err := call(ctx, s.reads, "statuses", func(ctx context.Context) ([]any, error) {
		return s.client.HMGet(ctx, s.notices()+":statuses", ids...).Result()
	})
	for i, status := range chosen {
		text, _ := status.(string)
		statuses[i] = presence.Status(text)
	}
	return statuses, err
}

// keepStatus keeps the status that a notice tells.
func (s *Store) keepStatus(ctx context.Context, n presence.Notice) error {
	_, err := call(ctx, s.writes, "notify", func(ctx context.Context) (int64, error) {
		return s.client.HSet(ctx, s.notices()+":statuses", string(n.StatusOf), string(n.Status)).Result()
	})
	return err
}

// Secret implements [presence.Store].
func (s *Store) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	key := s.cfg.Prefix + ":{~meta}:secret"
	return call(ctx, s.writes, "secret", func(ctx context.Context) ([]byte, error) {
		if err := s.client.SetNX(ctx, key, offer, 0).Err(); err != nil {
			return nil, err
		}
		return s.client.Get(ctx, key).Bytes()
	})
}

// Hear implements [presence.Store].
func (s *Store) Hear(context.Context) error { return nil }
