package redisstore

import (
	"context"
	"errors"

	"github.com/rollcall-go/rollcall/presence"
)

// Extras implements [presence.Store].
func (s *Store) Extras(_ context.Context, topics ...presence.Topic) ([]presence.Extras, error) {
	return make([]presence.Extras, len(topics)), nil
}

// Recent implements [presence.Store].
func (s *Store) Recent(context.Context, presence.Topic, presence.RecentQuery) (presence.RecentPage, error) {
	return presence.RecentPage{}, errors.ErrUnsupported
}

// Topics implements [presence.Store].
func (s *Store) Topics(context.Context, presence.Topic, int) ([]presence.Topic, error) {
	return nil, errors.ErrUnsupported
}

// Inspect implements [presence.Store].
func (s *Store) Inspect(context.Context, presence.Topic, presence.UserID, int) ([]presence.Inspected, error) {
	return nil, errors.ErrUnsupported
}
