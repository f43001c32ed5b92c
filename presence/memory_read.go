package presence

import (
	"context"
	"slices"
)

// Snapshot implements [Store].
func (s *MemoryStore) Snapshot(_ context.Context, topic Topic) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		return Snapshot{ID: Origin}, nil
	}
	snap := Snapshot{ID: t.head, Members: make([]Member, 0, t.total)}
	for _, u := range t.users {
		if u.visible {
			snap.Members = append(snap.Members, u.Member)
		}
	}
	slices.SortFunc(snap.Members, NewestFirst)
	return snap, nil
}

// Log implements [Store].
func (s *MemoryStore) Log(_ context.Context, topic Topic, after DiffID) ([]Diff, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		t = newMemoryTopic()
	}
	if after == t.head {
		return nil, nil
	}
	if after == "" {
		return slices.Clone(t.log), nil
	}
	i := slices.IndexFunc(t.log, func(d Diff) bool { return d.Prev == after })
	if i < 0 {
		return nil, ErrGap
	}
	return slices.Clone(t.log[i:]), nil
}

// Counts implements [Store].
func (s *MemoryStore) Counts(_ context.Context, topics ...Topic) ([]Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make([]Counts, len(topics))
	for i, name := range topics {
		counts[i].Head = Origin
		if t := s.topics[name]; t != nil {
			counts[i] = Counts{Head: t.head, Total: t.total, Recent: t.views.count(), Guests: t.guests.count()}
		}
	}
	return counts, nil
}

// Sightings implements [Store].
func (s *MemoryStore) Sightings(_ context.Context, topic Topic, users ...UserID) ([]Sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sightings := make([]Sighting, len(users))
	t := s.topics[topic]
	if t == nil {
		return sightings, nil
	}
	for i, id := range users {
		if u := t.users[id]; u != nil && u.visible {
			sightings[i] = Sighting{Online: true, Status: u.Status}
		} else {
			sightings[i].LastSeen = t.seen[id]
		}
	}
	return sightings, nil
}
