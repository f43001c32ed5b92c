package memstore

import (
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
)

// Snapshot implements [presence.Store].
func (s *Store) Snapshot(_ context.Context, topic presence.Topic) (presence.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		return presence.Snapshot{ID: presence.Origin}, nil
	}
	snap := presence.Snapshot{ID: t.head, Members: make([]presence.Member, 0, t.total)}
	t.eachNewest(nil, func(u *presentUser) bool {
		snap.Members = append(snap.Members, u.Member)
		return true
	})
	return snap, nil
}

// Log implements [presence.Store].
func (s *Store) Log(_ context.Context, topic presence.Topic, after presence.DiffID) ([]presence.Diff, error) {
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
	i := slices.IndexFunc(t.log, func(d presence.Diff) bool { return d.Prev == after })
	if i < 0 {
		return nil, presence.ErrGap
	}
	return slices.Clone(t.log[i:]), nil
}

// Counts implements [presence.Store].
func (s *Store) Counts(_ context.Context, topics ...presence.Topic) ([]presence.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make([]presence.Counts, len(topics))
	for i, name := range topics {
		counts[i].Head = presence.Origin
		if t := s.topics[name]; t != nil {
			counts[i] = presence.Counts{Head: t.head, Total: t.total, Recent: t.views.count(), Guests: t.guests.count()}
		}
	}
	return counts, nil
}

// Sightings implements [presence.Store].
func (s *Store) Sightings(_ context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sightings := make([]presence.Sighting, len(users))
	t := s.topics[topic]
	if t == nil {
		return sightings, nil
	}
	for i, id := range users {
		if u := t.users[id]; u != nil && u.visible {
			sightings[i] = presence.Sighting{Online: true, Status: u.Status, Idle: u.Idle, Holders: u.holders()}
		} else {
			sightings[i].LastSeen = t.seen[id]
		}
	}
	return sightings, nil
}

// holders returns what holds a user, in order.
func (u *presentUser) holders() []presence.Holder {
	holders := make([]presence.Holder, len(u.leases))
	for i, l := range u.leases {
		holders[i] = l.holder
	}
	slices.Sort(holders)
	return holders
}
