package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// An audience has the functions that watch each topic. The store's mutex guards it, and is held while they
// are called. So no function is called after its stop has returned.
type audience[T any] map[presence.Topic][]*func(T)

// join adds a function to a topic's watchers, and returns a function that removes it.
func (a audience[T]) join(s *Store, topic presence.Topic, fn func(T)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := &fn
	a[topic] = append(a[topic], key)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		a[topic] = slices.DeleteFunc(slices.Clone(a[topic]), func(other *func(T)) bool { return other == key })
		if len(a[topic]) == 0 {
			delete(a, topic)
		}
	}
}

// Watch implements [backend.Store]. It calls fn within the step that made the diff, with
// the store's mutex held.
func (s *Store) Watch(_ context.Context, topic presence.Topic, fn func(backend.Diff)) (func(), error) {
	return s.watchers.join(s, topic, fn), nil
}

// WatchBroadcasts implements [backend.Store]. It calls fn within Send, with the store's mutex
// held.
func (s *Store) WatchBroadcasts(_ context.Context, topic presence.Topic, fn func([]byte)) (func(), error) {
	return s.hearers.join(s, topic, fn), nil
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
		for _, fn := range s.hearers[b.Topic] {
			(*fn)(bytes.Clone(b.Data))
		}
	}
	return nil
}
