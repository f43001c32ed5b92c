package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Topics implements [backend.Store]. It looks at each topic.
func (s *Store) Topics(_ context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var topics []presence.Topic
	for name, t := range s.topics {
		if name > after && t.lately() {
			topics = append(topics, name)
		}
	}
	slices.Sort(topics)
	return topics[:min(len(topics), max(most, 0))], nil
}

// Inspect implements [backend.Store]. It looks at each user of the topic.
func (s *Store) Inspect(_ context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		return nil, nil
	}
	var users []*member
	for id, m := range t.members {
		if id > after && m.held() {
			users = append(users, m)
		}
	}
	slices.SortFunc(users, func(a, b *member) int { return strings.Compare(string(a.ID), string(b.ID)) })
	users = users[:min(len(users), max(most, 0))]
	inspected, now := make([]backend.Inspected, len(users)), time.Now()
	for i, u := range users {
		inspected[i] = u.inspect(now)
	}
	return inspected, nil
}
