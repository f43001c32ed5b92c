package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Watch implements [backend.Store]. It calls w's functions within the step that made the diff and within Send,
// with the store's mutex held. So none is called after stop has returned.
func (s *Store) Watch(_ context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[topic] = append(s.watchers[topic], &w)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers[topic] = slices.DeleteFunc(slices.Clone(s.watchers[topic]), func(other *backend.Watcher) bool { return other == &w })
		if len(s.watchers[topic]) == 0 {
			delete(s.watchers, topic)
		}
	}, nil
}

// Send implements [backend.Store]. Broadcasts are delivered before it returns. Each function
// gets bytes of its own: the caller may use its bytes again.
func (s *Store) Send(_ context.Context, broadcasts ...backend.Broadcast) error {
	for _, b := range broadcasts {
		if err := b.Validate(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range broadcasts {
		for _, w := range s.watchers[b.Topic] {
			if w.Broadcast != nil {
				w.Broadcast(bytes.Clone(b.Data))
			}
		}
	}
	return nil
}
