package redisstore

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

const maxRecentPage = 1000 // users

// Recent implements [backend.Store]. A page may be shorter than the limit although there are more users:
// lua/read.lua skips 1,000 users at most.
func (s *fleet) Recent(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	if len(q.Users) > 0 {
		return s.recentOf(ctx, topic, q.Users)
	}
	within, limit := min(max(q.Within, 0), backend.MaxWithin), min(max(q.Limit, 1), maxRecentPage)
	args := []any{s.now(), within.Milliseconds(), limit}
	if q.After != "" {
		score, user, err := decodeNext(q.After)
		if err != nil {
			return backend.RecentPage{}, err
		}
		args = append(args, score, user)
	}
	keys := s.keys(topic, "lately", "names", "users", "current", "old")
	r, err := s.texts(ctx, s.reads, "recent", 1, eval{recentScript, keys, args})
	if err != nil {
		return backend.RecentPage{}, err
	}
	page := backend.RecentPage{Users: make([]backend.RecentUser, 0, len(r)/4)}
	page.Total, err = strconv.Atoi(r[0])
	if err != nil {
		return backend.RecentPage{}, wrap("recent", errAnswer)
	}
	texts := r[1:]
	for ; len(texts) >= 4; texts = texts[4:] {
		u, err := decodeRecent(texts[0], texts[1], texts[2], texts[3])
		if err != nil {
			s.invalid.Add(1)
			continue
		}
		page.Users = append(page.Users, u)
	}
	if len(texts) == 2 {
		page.Next = encodeNext(texts[0], texts[1])
	}
	return page, nil
}

// recentOf answers a query that names users.
func (s *fleet) recentOf(ctx context.Context, topic presence.Topic, users []presence.UserID) (page backend.RecentPage, err error) {
	keys := s.keys(topic, "lately", "names", "users")
	texts, err := s.texts(ctx, s.reads, "recent", 3*len(users), eval{recentOfScript, keys, with([]any{s.now()}, users...)})
	if err != nil {
		return page, err
	}
	page.Users = make([]backend.RecentUser, len(users))
	for i, id := range users {
		if of := texts[3*i:]; of[0] != "" {
			if page.Users[i], err = decodeRecent(string(id), of[0], of[1], of[2]); err != nil {
				s.invalid.Add(1)
				page.Users[i] = backend.RecentUser{}
			}
		}
	}
	return page, nil
}

// decodeRecent decodes a user of a page: from the record if the user is online, and otherwise from the
// profile.
func decodeRecent(id, score, record, fields string) (u backend.RecentUser, err error) {
	ms, err := strconv.ParseInt(score, 10, 64)
	if err != nil || !validUserID(id) {
		return u, errRecord
	}
	u.Active = time.UnixMilli(-ms)
	if record != "" {
		m, err := decodeRecord(id, record)
		u.User, u.Online, u.Idle = m.User, true, m.Idle
		return u, err
	}
	var p storedFields
	if json.Unmarshal([]byte(fields), &p) != nil {
		return u, errRecord
	}
	u.User = p.user(id)
	return u, nil
}

// encodeNext returns the end of a page: "<active, ms>.<user>".
func encodeNext(user, score string) string { return strings.TrimPrefix(score, "-") + "." + user }

func decodeNext(next string) (score, user string, err error) {
	ms, user, _ := strings.Cut(next, ".")
	if n, err := strconv.ParseUint(ms, 10, 52); err != nil || !validUserID(user) || strconv.FormatUint(n, 10) != ms {
		return "", "", presence.ErrInvalidPage
	}
	return "-" + ms, user, nil
}
