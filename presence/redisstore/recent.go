package redisstore

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// maxRecentPage is how many users one page holds.
const maxRecentPage = 1000

// Recent implements [presence.Store]. A page may be shorter than the limit though there are
// more: lua/recent.lua passes over 1,000 users at most.
func (s *Store) Recent(ctx context.Context, topic presence.Topic, q presence.RecentQuery) (presence.RecentPage, error) {
	within, limit := min(max(q.Within, 0), presence.MaxWithin), min(max(q.Limit, 1), maxRecentPage)
	args := []any{s.now(), within.Milliseconds(), limit}
	if q.After != "" {
		score, user, err := decodeNext(q.After)
		if err != nil {
			return presence.RecentPage{}, err
		}
		args = append(args, score, user)
	}
	if err := s.ready(ctx, s.reads); err != nil {
		return presence.RecentPage{}, err
	}
	keys := s.keys(topic, "lately", "names", "users", "current", "old")
	answer, err := s.runOne(ctx, s.reads, "recent", eval{recentScript, keys, args})
	if err != nil {
		return presence.RecentPage{}, err
	}
	r, err := answer.Slice()
	if err != nil || len(r) == 0 {
		return presence.RecentPage{}, wrap("recent", errAnswer)
	}
	page := presence.RecentPage{Users: make([]presence.RecentUser, 0, len(r)/4)}
	total, _ := r[0].(int64)
	page.Total = int(total)
	texts := make([]string, len(r)-1)
	for i, part := range r[1:] {
		texts[i], _ = part.(string)
	}
	for ; len(texts) >= 4; texts = texts[4:] {
		switch u, err := decodeRecent(texts[0], texts[1], texts[2], texts[3]); {
		case err != nil:
			s.invalid.Add(1)
		case u.Status.Base() == presence.Invisible:
			s.hide(topic, u.ID)
		default:
			page.Users = append(page.Users, u)
		}
	}
	if len(texts) == 2 {
		page.Next = encodeNext(texts[0], texts[1])
	}
	return page, nil
}

// decodeRecent reads a user of a page from the record, of a user who is online, or from the
// profile, of another.
func decodeRecent(id, score, record, fields string) (u presence.RecentUser, err error) {
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
	var p profile
	if json.Unmarshal([]byte(fields), &p) != nil {
		return u, errRecord
	}
	u.User = p.user(id)
	return u, nil
}

// encodeNext writes where a page ended: "<active, ms>.<user>".
func encodeNext(user, score string) string { return strings.TrimPrefix(score, "-") + "." + user }

func decodeNext(next string) (score, user string, err error) {
	ms, user, _ := strings.Cut(next, ".")
	if n, err := strconv.ParseUint(ms, 10, 52); err != nil || !validUserID(user) || strconv.FormatUint(n, 10) != ms {
		return "", "", presence.ErrInvalidPage
	}
	return "-" + ms, user, nil
}
