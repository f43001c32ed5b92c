package memstore

import (
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// ExportUser implements [backend.Store].
func (s *Store) ExportUser(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	e := backend.Erasure{User: user}
	var kept backend.StoreKept
	s.mu.Lock()
	for name, t := range s.topics {
		if e.Concerns(name) {
			for _, id := range t.named(e) {
				if k, any := t.kept(name, id); any {
					kept.Topics = append(kept.Topics, k)
				}
			}
		}
	}
	s.mu.Unlock()
	slices.SortFunc(kept.Topics, backend.TopicKept.Compare)
	chosen, err := s.Statuses(ctx, user)
	if err != nil {
		return nil, err
	}
	kept.Chosen, kept.Entries = chosen[0], s.consumers.about(e)
	return kept.Parts(), nil
}

// kept returns what the topic keeps of a user, and whether it keeps anything.
func (t *topicState) kept(name presence.Topic, id presence.UserID) (backend.TopicKept, bool) {
	k := backend.TopicKept{Topic: name, Viewed: t.views.has(id), LastSeen: t.seen[id]}
	k.Member.ID = id
	if m := t.members[id]; m != nil && m.held() {
		k.Member, k.Leases = m.Member, m.holders()
	}
	if t.names != nil && t.names.users[id] != nil {
		r := t.names.users[id]
		k.Known, k.Active = r.User, r.active
	}
	return k, k.Viewed || !k.LastSeen.IsZero() || len(k.Leases) > 0 || !k.Active.IsZero()
}

func (cs *consumers) about(e backend.Erasure) (all []backend.EntryKept) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for name, record := range cs.byName {
		for key, value := range record.entries {
			if e.NamesEntry(key, value) {
				all = append(all, backend.EntryKept{Consumer: name, Key: key, Value: value})
			}
		}
	}
	slices.SortFunc(all, backend.EntryKept.Compare)
	return all
}
