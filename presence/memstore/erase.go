package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
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
	s.bus.forget(e.User)
	s.consumers.erase(e)
	return nil
}

// eraseLocked erases a user in a topic. The caller holds mu.
func (s *Store) eraseLocked(name presence.Topic, t *topicState, e backend.Erasure) {
	step := t.begin(time.Now())
	var gone []presence.UserID
	for _, id := range t.named(e) {
		m := t.members[id]
		if m != nil && m.Since.After(step.now.Add(-e.Ago)) && e.Ago > 0 {
			continue // of a user who came back
		}
		gone = append(gone, id)
		if m != nil {
			step.note(id)
			step.forget(m)
		}
	}
	s.commitLocked(name, step)
	for _, id := range gone {
		delete(t.seen, id)
		delete(t.views, id)
		if t.names != nil {
			t.names.remove(id)
		}
	}
	if slices.ContainsFunc(t.log, e.NamesDiff) {
		t.log, t.changes = nil, 0
	}
}

// named returns the ids of an erased user and of the user's devices, as a topic has them.
func (t *topicState) named(e backend.Erasure) []presence.UserID {
	kept := []iter.Seq[presence.UserID]{maps.Keys(t.members), maps.Keys(t.seen), maps.Keys(t.views)}
	if t.names != nil {
		kept = append(kept, maps.Keys(t.names.users))
	}
	found := map[presence.UserID]struct{}{e.User: {}}
	for _, ids := range kept {
		for id := range ids {
			if e.Names(id) {
				found[id] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (cs *consumers) erase(e backend.Erasure) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, record := range cs.byName {
		maps.DeleteFunc(record.entries, e.NamesEntry)
	}
}

// erasures are those that were promised and are not done.
type erasures struct {
	mu     sync.Mutex
	byUser map[presence.UserID]keptErasure
	number int
}

type keptErasure struct {
	id         string
	asked, due time.Time
}

// AddErasure implements [backend.Store].
func (es *erasures) AddErasure(_ context.Context, user presence.UserID, hold time.Duration) (backend.Erasure, error) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.number++
	id := strconv.Itoa(es.number)
	es.byUser[user] = keptErasure{id, time.Now(), time.Now().Add(hold)}
	return backend.Erasure{User: user, ID: id}, nil
}

// ClaimErasures implements [backend.Store].
func (es *erasures) ClaimErasures(_ context.Context, most int, hold time.Duration) (claimed []backend.Erasure, err error) {
	es.mu.Lock()
	defer es.mu.Unlock()
	due := slices.SortedFunc(maps.Keys(es.byUser), func(a, b presence.UserID) int {
		return es.byUser[a].due.Compare(es.byUser[b].due)
	})
	for _, user := range due[:min(max(most, 0), len(due))] {
		e := es.byUser[user]
		if e.due.After(time.Now()) {
			break
		}
		claimed = append(claimed, backend.Erasure{User: user, Ago: time.Since(e.asked), ID: e.id})
		e.due = time.Now().Add(hold)
		es.byUser[user] = e
	}
	return claimed, nil
}

// claimable reports whether an erasure can be claimed.
func (es *erasures) claimable(now time.Time) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.byUser {
		if !e.due.After(now) {
			return true
		}
	}
	return false
}

// EndErasure implements [backend.Store].
func (es *erasures) EndErasure(_ context.Context, e backend.Erasure) error {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.byUser[e.User].id == e.ID {
		delete(es.byUser, e.User)
	}
	return nil
}
