package redisstore

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxRosterPage is how many users one page holds.
const maxRosterPage = 1000

// Roster implements [backend.Store]. Its order is that of HSCAN. If the hash of the roster changes meanwhile,
// a user who stays may be returned twice.
//
// A page ends where a call of HSCAN ended, so that it has all users whom that call returned. But even the
// smallest step of HSCAN may return more users than fit on a page: a small hash as a whole, and several users
// of one bucket. Then the page has the first of them by id, and the next page repeats the step.
func (s *reader) Roster(ctx context.Context, topic presence.Topic, q backend.RosterQuery) (backend.RosterPage, error) {
	from, ok := readAfter(topic, q.After)
	if !ok {
		return backend.RosterPage{}, presence.ErrInvalidPage
	}
	if err := s.ready(ctx, s.reads); err != nil {
		return backend.RosterPage{}, err
	}
	limit := min(max(q.Limit, 1), maxRosterPage)
	args := []any{from.cursor, limit, 1}
	if from.behind == "" {
		// HSCAN may exceed its COUNT by the size of the last bucket. An eighth less leaves room for that.
		args = []any{from.cursor, limit, limit, max(limit-(limit+7)/8, 1), 1}
	}
	answer, err := s.runOne(ctx, s.reads, "roster", eval{rosterScript, s.keys(topic, "users", "head", "log"), args})
	if err != nil {
		return backend.RosterPage{}, err
	}
	r, err := answer.Slice()
	if err != nil || len(r) != 4 {
		return backend.RosterPage{}, wrap("roster", errAnswer)
	}
	end, ok1 := r[2].(string)
	head, online, records, err := readRoster(r[0], r[1], r[3])
	if err != nil || !ok1 {
		return backend.RosterPage{}, wrap("roster", errAnswer)
	}
	page := backend.RosterPage{ID: head, Total: int(online)}
	for ; len(records) >= 2; records = records[2:] {
		id, _ := records[0].(string)
		record, _ := records[1].(string)
		m, err := decodeRecord(id, record)
		if err != nil {
			s.invalid.Add(1)
			continue
		}
		// A repeated step that ends elsewhere may have other users: if a bucket was emptied, those of the
		// next one. It is then read from its beginning.
		if end != from.end || id > from.behind {
			page.Members = append(page.Members, m)
		}
	}
	switch {
	case len(page.Members) > limit:
		slices.SortFunc(page.Members, func(a, b presence.Member) int { return strings.Compare(string(a.ID), string(b.ID)) })
		page.Members = page.Members[:limit]
		page.Next = from.cursor + "." + end + "." + base64.RawURLEncoding.EncodeToString([]byte(page.Members[limit-1].ID.Local()))
	case end != "0":
		page.Next = end
	}
	return page, nil
}

// A rosterPlace is the start of a page of a roster.
type rosterPlace struct {
	cursor string // where HSCAN continues
	end    string // where the smallest step from cursor ended, if the previous page ended within it
	behind string // the last user of the step on the previous page; empty: none
}

// readAfter parses the end of a page: "<cursor>", or "<cursor>.<end>.<user>" within a step.
func readAfter(topic presence.Topic, after string) (place rosterPlace, ok bool) {
	if after == "" {
		return rosterPlace{cursor: "0"}, true
	}
	cursor, rest, within := strings.Cut(after, ".")
	if !validScan(cursor) {
		return rosterPlace{}, false
	}
	if !within {
		return rosterPlace{cursor: cursor}, cursor != "0"
	}
	end, name, _ := strings.Cut(rest, ".")
	id, err := base64.RawURLEncoding.DecodeString(name)
	if !validScan(end) || err != nil || len(id) == 0 || len(id) > presence.MaxUserIDLen {
		return rosterPlace{}, false
	}
	return rosterPlace{cursor, end, string(presence.UserID(id).In(topic.Tenant()))}, true
}

// validScan reports whether a text is a cursor of HSCAN, as Redis writes it.
func validScan(cursor string) bool {
	n, err := strconv.ParseUint(cursor, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == cursor
}

// Members implements [backend.Store].
func (s *reader) Members(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Member, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	if len(users) == 0 {
		return []presence.Member{}, nil
	}
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = string(u)
	}
	return call(ctx, s.reads, "members", func(ctx context.Context) ([]presence.Member, error) {
		records, err := s.one().HMGet(ctx, s.key(topic, "users"), ids...).Result()
		if err != nil {
			return nil, err
		}
		if len(records) != len(ids) {
			return nil, errAnswer
		}
		members := make([]presence.Member, len(ids))
		for i, id := range ids {
			record, there := records[i].(string)
			if !there {
				continue
			}
			if members[i], err = decodeRecord(id, record); err != nil {
				s.invalid.Add(1)
			}
		}
		return members, nil
	})
}
