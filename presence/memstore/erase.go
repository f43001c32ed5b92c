package memstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// EraseUser implements [backend.Store].
func (s *Store) EraseUser(_ context.Context, e backend.Erasure) error {
	s.mu.Lock()
	for name, t := range s.topics {
		if e.Concerns(name) {
			s.eraseLocked(name, t, e)
		}
	}
	s.mu.Unlock()
	s.notices.Lock()
	delete(s.chosen, e.User)
	s.notices.Unlock()
	s.consumers.erase(e)
	return nil
}

// eraseLocked erases a user from a topic. The caller holds mu.
func (s *Store) eraseLocked(name presence.Topic, t *topicState, e backend.Erasure) {
	step := t.begin(time.Now())
	var gone []presence.UserID
	for _, id := range t.members(e) {
		u := t.users[id]
		if u != nil && u.Since.After(step.now.Add(-e.Ago)) && e.Ago > 0 {
			continue // the user came back
		}
		gone = append(gone, id)
		if u != nil {
			step.lapse(step.note(id))
			step.signOut(step.note(id))
		}
	}
	s.commitLocked(name, step)
	for _, id := range gone {
		delete(t.seen, id)
		t.views.remove(id)
		if t.names != nil {
			t.names.remove(id)
		}
	}
	if slices.ContainsFunc(t.log, e.NamesDiff) {
		t.log, t.changes = nil, 0
	}
}

// members returns the user of an erasure, and the user's devices, as a topic knows them.
func (t *topicState) members(e backend.Erasure) []presence.UserID {
	found := map[presence.UserID]struct{}{e.User: {}}
	add := func(id presence.UserID) {
		if e.Names(id) {
			found[id] = struct{}{}
		}
	}
	for id := range t.users {
		add(id)
	}
	for id := range t.seen {
		add(id)
	}
	for _, views := range []map[presence.UserID]struct{}{t.views.current, t.views.old} {
		for id := range views {
			add(id)
		}
	}
	if t.names != nil {
		for id := range t.names.users {
			add(id)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (c *consumers) erase(e backend.Erasure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, record := range c.byName {
		had := len(record.entries)
		maps.DeleteFunc(record.entries, e.NamesEntry)
		if len(record.entries) < had {
			record.version++
		}
	}
}

// erasures are promised and not done. Store.notices guards them.
type erasures struct {
	byUser map[presence.UserID]keptErasure
	number int
}

type keptErasure struct {
	id         string
	asked, due time.Time
}

// AddErasure implements [backend.Store].
func (s *Store) AddErasure(_ context.Context, user presence.UserID, hold time.Duration) (backend.Erasure, error) {
	s.notices.Lock()
	defer s.notices.Unlock()
	if s.erasures.byUser == nil {
		s.erasures.byUser = make(map[presence.UserID]keptErasure)
	}
	s.erasures.number++
	id := strconv.Itoa(s.erasures.number)
	s.erasures.byUser[user] = keptErasure{id, time.Now(), time.Now().Add(hold)}
	return backend.Erasure{User: user, ID: id}, nil
}

// ClaimErasures implements [backend.Store].
func (s *Store) ClaimErasures(_ context.Context, most int, hold time.Duration) (claimed []backend.Erasure, err error) {
	s.notices.Lock()
	defer s.notices.Unlock()
	due := slices.SortedFunc(maps.Keys(s.erasures.byUser), func(a, b presence.UserID) int {
		return s.erasures.byUser[a].due.Compare(s.erasures.byUser[b].due)
	})
	for _, user := range due[:min(max(most, 0), len(due))] {
		e := s.erasures.byUser[user]
		if e.due.After(time.Now()) {
			break
		}
		claimed = append(claimed, backend.Erasure{User: user, Ago: time.Since(e.asked), ID: e.id})
		e.due = time.Now().Add(hold)
		s.erasures.byUser[user] = e
	}
	return claimed, nil
}

// EndErasure implements [backend.Store].
func (s *Store) EndErasure(_ context.Context, e backend.Erasure) error {
	s.notices.Lock()
	defer s.notices.Unlock()
	if s.erasures.byUser[e.User].id == e.ID {
		delete(s.erasures.byUser, e.User)
	}
	return nil
}
