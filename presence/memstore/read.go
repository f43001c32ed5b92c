package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Snapshot implements [backend.Store].
func (s *Store) Snapshot(_ context.Context, topic presence.Topic) (backend.Snapshot, error) {
	s.mu.Lock()
	snap := backend.Snapshot{ID: backend.Origin, At: time.Now()}
	if t := s.topics[topic]; t != nil {
		snap.ID, snap.Members = t.head, make([]presence.Member, 0, t.total)
		for _, m := range t.members {
			if m.listed {
				snap.Members = append(snap.Members, m.Member)
			}
		}
	}
	s.mu.Unlock() // before a large roster is sorted
	slices.SortFunc(snap.Members, presence.NewestFirst)
	return snap, nil
}

// Log implements [backend.Store].
func (s *Store) Log(_ context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		t = newTopicState()
	}
	if after == t.head {
		return nil, nil
	}
	if after == "" {
		return slices.Clone(t.log), nil
	}
	i := slices.IndexFunc(t.log, func(d backend.Diff) bool { return d.Prev == after })
	if i < 0 {
		return nil, presence.ErrGap
	}
	return slices.Clone(t.log[i:]), nil
}

// Counts implements [backend.Store].
func (s *Store) Counts(_ context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make([]backend.Counts, len(topics))
	for i, name := range topics {
		c := &counts[i]
		c.Head, c.Peak = backend.Origin, s.peaks[name]
		if t := s.topics[name]; t != nil {
			c.Head, c.Total, c.Recent, c.Guests, c.Bots = t.head, t.total, len(t.views), t.guests.count(), t.bots.byName()
		}
	}
	return counts, nil
}

// Sightings implements [backend.Store].
func (s *Store) Sightings(_ context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sightings := make([]backend.Sighting, len(users))
	t := s.topics[topic]
	if t == nil {
		return sightings, nil
	}
	for i, id := range users {
		if m := t.members[id]; m != nil && m.listed {
			sightings[i] = backend.Sighting{Online: true, Status: m.Status, Idle: m.Idle, Holders: m.holders(), Pages: m.pages()}
		} else {
			sightings[i].LastSeen = t.seen[id]
		}
	}
	return sightings, nil
}
