package memstore

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxRosterPage is how many users one page holds.
const maxRosterPage = 1000

// Roster implements [backend.Store]. Its order is the newest first, so no user is ever returned twice.
func (s *Store) Roster(_ context.Context, topic presence.Topic, q backend.RosterQuery) (backend.RosterPage, error) {
	var pivot *presentUser
	if q.After != "" {
		if pivot = readAfter(topic, q.After); pivot == nil {
			return backend.RosterPage{}, presence.ErrInvalidPage
		}
	}
	limit := min(max(q.Limit, 1), maxRosterPage)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		return backend.RosterPage{ID: backend.Origin}, nil
	}
	page := backend.RosterPage{ID: t.head, Total: t.total, Members: make([]presence.Member, 0, min(limit, t.total))}
	collect := func(u *presentUser) bool {
		switch {
		case pivot != nil && presence.NewestFirst(u.Member, pivot.Member) == 0:
		case len(page.Members) == limit:
			last := page.Members[limit-1]
			page.Next = strconv.FormatInt(last.Since.UnixNano(), 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(last.ID.Local()))
			return false
		default:
			page.Members = append(page.Members, u.Member)
		}
		return true
	}
	t.eachNewest(pivot, collect)
	return page, nil
}

// readAfter parses the text RosterQuery.After; nil: it is invalid.
func readAfter(topic presence.Topic, after string) *presentUser {
	since, name, ok := strings.Cut(after, ".")
	nanos, err := strconv.ParseInt(since, 36, 64)
	id, err2 := base64.RawURLEncoding.DecodeString(name)
	if !ok || err != nil || err2 != nil || len(id) == 0 {
		return nil
	}
	at := presence.Member{User: presence.User{ID: presence.UserID(id).In(topic.Tenant())}, Since: time.Unix(0, nanos)}
	return &presentUser{Member: at}
}

// Members implements [backend.Store].
func (s *Store) Members(_ context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Member, error) {
	members := make([]presence.Member, len(users))
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		return members, nil
	}
	for i, id := range users {
		if u := t.users[id]; u != nil && u.visible {
			members[i] = u.Member
		}
	}
	return members, nil
}
