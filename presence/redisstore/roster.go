package redisstore

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// maxRosterPage is how many users one page holds.
const maxRosterPage = 1000

// Roster implements [presence.Store]. Its order is the one of HSCAN. A user who stays may be
// named twice where the hash of the roster grows or shrinks meanwhile.
func (s *Store) Roster(ctx context.Context, topic presence.Topic, q presence.RosterQuery) (presence.RosterPage, error) {
	cursor, behind, ok := readAfter(topic, q.After)
	if !ok {
		return presence.RosterPage{}, presence.ErrInvalidPage
	}
	if err := s.ready(ctx, s.reads); err != nil {
		return presence.RosterPage{}, err
	}
	limit := min(max(q.Limit, 1), maxRosterPage)
	answer, err := s.runOne(ctx, s.reads, "roster", eval{rosterScript, s.keys(topic, "users", "head", "log"), []any{cursor, limit}})
	if err != nil {
		return presence.RosterPage{}, err
	}
	r, err := answer.Slice()
	if err != nil || len(r) != 4 {
		return presence.RosterPage{}, wrap("roster", errAnswer)
	}
	next, ok1 := r[2].(string)
	head, online, records, err := readRoster(r[0], r[1], r[3])
	if err != nil || !ok1 {
		return presence.RosterPage{}, wrap("roster", errAnswer)
	}
	page := presence.RosterPage{ID: head, Total: int(online)}
	for ; len(records) >= 2; records = records[2:] {
		id, _ := records[0].(string)
		record, _ := records[1].(string)
		m, err := decodeRecord(id, record)
		if err != nil {
			s.invalid.Add(1)
			continue
		}
		if id > behind {
			page.Members = append(page.Members, m)
		}
	}
	// The users of one call of HSCAN are in the order of their ids, so that a page can end
	// between two of them.
	slices.SortFunc(page.Members, func(a, b presence.Member) int { return strings.Compare(string(a.ID), string(b.ID)) })
	switch {
	case len(page.Members) > limit:
		page.Members = page.Members[:limit]
		page.Next = cursor + "." + base64.RawURLEncoding.EncodeToString([]byte(page.Members[limit-1].ID.Local()))
	case next != "0":
		page.Next = next
	}
	return page, nil
}

// readAfter reads where a page ended: "<cursor>", or "<cursor>.<user>" if it ended within what
// HSCAN returns for the cursor.
func readAfter(topic presence.Topic, after string) (cursor, behind string, ok bool) {
	if after == "" {
		return "0", "", true
	}
	cursor, name, within := strings.Cut(after, ".")
	if n, err := strconv.ParseUint(cursor, 10, 64); err != nil || strconv.FormatUint(n, 10) != cursor {
		return "", "", false
	}
	if !within {
		return cursor, "", cursor != "0"
	}
	id, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(id) == 0 {
		return "", "", false
	}
	return cursor, string(presence.UserID(id).In(topic.Tenant())), true
}

// Members implements [presence.Store].
func (s *Store) Members(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Member, error) {
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
				members[i] = presence.Member{}
			}
		}
		return members, nil
	})
}
