package memstore

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// Extras implements [presence.Store].
func (s *Store) Extras(_ context.Context, topics ...presence.Topic) ([]presence.Extras, error) {
	return make([]presence.Extras, len(topics)), nil
}

// Recent implements [presence.Store].
func (s *Store) Recent(context.Context, presence.Topic, presence.RecentQuery) (presence.RecentPage, error) {
	return presence.RecentPage{}, nil
}

// Topics implements [presence.Store].
func (s *Store) Topics(context.Context, presence.Topic, int) ([]presence.Topic, error) {
	return nil, nil
}

// Inspect implements [presence.Store].
func (s *Store) Inspect(context.Context, presence.Topic, presence.UserID, int) ([]presence.Inspected, error) {
	return nil, nil
}
