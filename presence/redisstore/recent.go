package redisstore

import (
	"context"
	"encoding/json"
	"slices"
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

// Remembered implements [backend.Store]. It runs a script for every 1,000 users, all in one
// round trip.
func (s *fleet) Remembered(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.RecentUser, error) {
	remembered := make([]backend.RecentUser, len(users))
	if len(users) == 0 {
		return remembered, nil
	}
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	keys := s.keys(topic, "lately", "names", "users")
	var evals []eval
	for some := range slices.Chunk(users, maxSmallRoster) {
		evals = append(evals, eval{rememberedScript, keys, with([]any{s.now()}, some...)})
	}
	answers, err := call(ctx, s.reads, "remembered", func(ctx context.Context) (texts []string, err error) {
		answers, err := s.run(ctx, evals...)
		for _, a := range answers {
			if err == nil {
				var some []string
				some, err = a.StringSlice()
				texts = append(texts, some...)
			}
		}
		return texts, err
	})
	if err != nil {
		return nil, err
	}
	if len(answers) != 3*len(users) {
		return nil, wrap("remembered", errAnswer)
	}
	for i, id := range users {
		if of := answers[3*i:]; of[0] != "" {
			if remembered[i], err = decodeRecent(string(id), of[0], of[1], of[2]); err != nil {
				s.invalid.Add(1)
				remembered[i] = backend.RecentUser{}
			}
		}
	}
	return remembered, nil
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
