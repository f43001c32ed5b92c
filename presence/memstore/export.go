package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// ExportUser implements [presence.Store].
func (s *Store) ExportUser(_ context.Context, user presence.UserID) ([]presence.Kept, error) {
	e := presence.Erasure{User: user}
	var kept presence.StoreKept
	s.mu.Lock()
	for name, t := range s.topics {
		if e.Concerns(name) {
			for _, id := range t.members(e) {
				if k, any := t.kept(name, id); any {
					kept.Topics = append(kept.Topics, k)
				}
			}
		}
	}
	s.mu.Unlock()
	slices.SortFunc(kept.Topics, presence.TopicKept.Compare)
	s.notices.Lock()
	chosen := s.chosen[user]
	s.notices.Unlock()
	if kept.Status = chosen.Status; chosen.Order > 0 {
		kept.StatusAt = time.UnixMicro(int64(chosen.Order))
	}
	kept.Entries = s.consumers.about(e)
	return kept.Parts(), nil
}

// kept returns what the topic keeps of a user, and whether it keeps anything.
func (t *topicState) kept(name presence.Topic, id presence.UserID) (presence.TopicKept, bool) {
	k := presence.TopicKept{Topic: name, Viewed: t.views.has(id), LastSeen: t.seen[id]}
	k.Member.ID = id
	if u := t.users[id]; u != nil {
		k.Member, k.Leases = u.Member, u.holders()
	}
	if t.names != nil && t.names.users[id] != nil {
		r := t.names.users[id]
		k.Known, k.Active = r.User, r.active
	}
	return k, k.Viewed || !k.LastSeen.IsZero() || len(k.Leases) > 0 || !k.Active.IsZero()
}

func (c *consumers) about(e presence.Erasure) (all []presence.EntryKept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, record := range c.byName {
		for key, value := range record.entries {
			if e.NamesEntry(key, value) {
				all = append(all, presence.EntryKept{Consumer: name, Key: key, Value: value})
			}
		}
	}
	slices.SortFunc(all, presence.EntryKept.Compare)
	return all
}
