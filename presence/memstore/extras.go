package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Extras implements [backend.Store].
func (s *Store) Extras(_ context.Context, topics ...presence.Topic) ([]backend.Extras, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	extras := make([]backend.Extras, len(topics))
	for i, name := range topics {
		extras[i].Peak = s.peaks[name]
		if t := s.topics[name]; t != nil {
			extras[i].Bots = t.bots.byName()
		}
	}
	return extras, nil
}

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
	var users []*presentUser
	for id, u := range t.users {
		if id > after {
			users = append(users, u)
		}
	}
	slices.SortFunc(users, func(a, b *presentUser) int { return strings.Compare(string(a.ID), string(b.ID)) })
	users = users[:min(len(users), max(most, 0))]
	inspected, now := make([]backend.Inspected, len(users)), time.Now()
	for i, u := range users {
		inspected[i] = u.inspect(now)
	}
	return inspected, nil
}

// inspect returns a user with the leases, which are ordered by holder.
func (u *presentUser) inspect(now time.Time) backend.Inspected {
	in := backend.Inspected{Member: u.Member}
	if !u.visible {
		in.Since, in.Active = time.Time{}, time.Time{}
	}
	for _, l := range u.leases {
		in.Leases = append(in.Leases, backend.Lease{Holder: l.holder, Pages: l.pages, Left: l.expires.Sub(now)})
	}
	slices.SortFunc(in.Leases, func(a, b backend.Lease) int { return cmp.Compare(a.Holder, b.Holder) })
	return in
}
