package memstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxRecentLimit is how many users a page of Recent has at most.
const maxRecentLimit = 1000

// Recent implements [backend.Store].
func (s *Store) Recent(_ context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	var page backend.RecentPage
	after, err := parsePageMark(q.After)
	if err != nil {
		return page, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if len(q.Users) > 0 {
		page.Users = t.of(q.Users)
		return page, nil
	}
	if t == nil {
		return page, nil
	}
	since := time.Now().Add(-min(q.Within, backend.MaxWithin))
	page.Total = t.names.since(since)
	if q.Within <= 0 { // of the users who viewed a page
		since, page.Total = t.began, len(t.views)
	}
	if t.names != nil {
		t.recent(&page, after, since, q)
	}
	return page, nil
}

// of returns what a page has of each user.
func (t *topicState) of(users []presence.UserID) []backend.RecentUser {
	all := make([]backend.RecentUser, len(users))
	if t == nil || t.names == nil {
		return all
	}
	since := time.Now().Add(-backend.MaxWithin)
	for i, id := range users {
		if r := t.names.users[id]; r != nil && !r.active.Before(since) {
			all[i] = t.recentUser(r)
		}
	}
	return all
}

// recent adds to a page the users after a mark who were active since a moment.
func (t *topicState) recent(page *backend.RecentPage, after *remembered, since time.Time, q backend.RecentQuery) {
	limit := min(max(q.Limit, 1), maxRecentLimit)
	add := func(r *remembered) bool {
		switch {
		case r.active.Before(since):
			return false
		case after != nil && r.ID == after.ID && r.active.Equal(after.active), q.Within <= 0 && !t.views.has(r.ID):
			return true
		case len(page.Users) == limit:
			page.Next = pageMark(page.Users[limit-1])
			return false
		}
		page.Users = append(page.Users, t.recentUser(r))
		return true
	}
	if after == nil {
		t.names.all.Scan(add)
	} else {
		t.names.all.Ascend(after, add)
	}
}

// recentUser returns a remembered user for a page.
func (t *topicState) recentUser(r *remembered) backend.RecentUser {
	u := backend.RecentUser{User: r.User, Active: r.active}
	if m := t.members[r.ID]; m != nil {
		u.Online, u.Idle = m.listed, m.listed && m.Idle
	}
	if !u.Online {
		u.Status = ""
	}
	return u
}

// The mark of a page is "<time>.<user>" of its last user.

func pageMark(last backend.RecentUser) string {
	return strconv.FormatInt(last.Active.UnixNano(), 36) + "." + string(last.ID)
}

// parsePageMark returns the user that a mark names, nil for the empty mark.
func parsePageMark(mark string) (*remembered, error) {
	if mark == "" {
		return nil, nil
	}
	at, user, _ := strings.Cut(mark, ".")
	nanos, err := strconv.ParseInt(at, 36, 64)
	if err != nil || user == "" {
		return nil, fmt.Errorf("%w: %.40q", presence.ErrInvalidPage, mark)
	}
	return &remembered{User: presence.User{ID: presence.UserID(user)}, active: time.Unix(0, nanos)}, nil
}
