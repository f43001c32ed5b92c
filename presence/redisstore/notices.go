package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Notices that last stand in a log, and what is published only says that there is
// one: messages reach those who listen in that moment, and nobody who signed out may
// stay because a node's connection just broke. A node reads the log when it is told,
// and once a second. The log is trimmed by time, and holds nothing else: closed pages
// and idle users, of which there are a thousand times as many, are told live.
const (
	noticesKeep = 10 * time.Minute // a node that was away for longer may have missed some
	noticesPage = 250
	// maxNotices bounds the log whatever comes: some 100 MB. What is dropped then is
	// counted, and nodes that have not read it find out.
	maxNotices = 1_000_000
)

// notices is the name of version 1's channel, and with the log's in one slot.
func (s *Store) notices() string { return s.cfg.Prefix + ":{notices}" }

// noticeLog are the keys of the log: its notices, and its name.
func (s *Store) noticeLog() []string { return []string{s.notices() + ":log", s.notices() + ":epoch"} }

func (s *Store) statusKeys() []string {
	return []string{s.notices() + ":statuses", s.notices() + ":chosen"}
}

// Publish implements [presence.Store].
func (s *Store) Publish(ctx context.Context, n presence.Notice) error {
	text, err := encodeNotice(n)
	if err != nil {
		return wrap("notify", err)
	}
	if err := s.ready(ctx, s.writes); err != nil {
		return err
	}
	message, entry, old := versioned(text), "", ""
	if n.Lasting {
		message, entry = versioned(""), text
	}
	status, _ := n.Status()
	user := ""
	if status != "" {
		user = string(n.User)
	}
	if s.legacy() {
		entry, old = text, s.notices()
	}
	answer, err := s.runOne(ctx, s.writes, "notify", eval{tellScript, append(s.noticeLog(), s.statusKeys()...), []any{
		s.now(), s.publish(), s.live() + s.place(), message, entry, messageVersion, noticesKeep.Milliseconds(), maxNotices, rand.Text(), old,
		user, string(status), n.Ago.Milliseconds(),
	}})
	if err == nil {
		dropped, _ := answer.Int64()
		s.cut.Add(uint64(max(dropped, 0)))
	}
	return err
}

// live is the name of the notices' channel without the keyspace's id.
func (s *Store) live() string { return s.notices() + ":live" }

// Statuses implements [presence.Store].
func (s *Store) Statuses(ctx context.Context, users ...presence.UserID) ([]presence.Status, error) {
	statuses := make([]presence.Status, len(users))
	if len(users) == 0 {
		return statuses, nil
	}
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	ids := make([]string, len(users))
	for i, id := range users {
		ids[i] = string(id)
	}
	chosen, err := call(ctx, s.reads, "statuses", func(ctx context.Context) ([]any, error) {
		return s.client.HMGet(ctx, s.statusKeys()[0], ids...).Result()
	})
	if err != nil {
		return nil, err
	}
	for i, status := range chosen[:min(len(chosen), len(statuses))] {
		text, _ := status.(string)
		if chosen, err := presence.ParseStatus(text); err == nil {
			statuses[i] = chosen
		}
	}
	return statuses, nil
}

// trimChosen forgets statuses that were chosen long ago, a thousand at a time.
func (s *Store) trimChosen(ctx context.Context, keep time.Duration, most int) (forgotten int, err error) {
	for more := true; more; {
		answer, err := s.runOne(ctx, s.writes, "trim", eval{trimChosenScript, s.statusKeys(), []any{s.now(), keep.Milliseconds(), most, trimMost}})
		if err != nil {
			return forgotten, err
		}
		r, err := answer.Int64Slice()
		if err != nil || len(r) < 2 {
			return forgotten, wrap("trim", errAnswer)
		}
		forgotten += int(r[0])
		more = r[1] == 1
	}
	return forgotten, nil
}

// A hearing is what hear.lua returns.
type hearing struct {
	epoch, now string
	old        int64         // nodes of version 1
	missed     time.Duration // notices of up to that long ago may be missed
	notices    []heardNotice
}

type heardNotice struct {
	id, text string
	late     time.Duration
	version  int
}

func readHearing(answer *redis.Cmd) (h hearing, err error) {
	r, err := answer.StringSlice()
	if err != nil {
		return h, err
	}
	if len(r) < 4 {
		return h, errAnswer
	}
	now, err1 := strconv.ParseInt(r[1], 10, 64)
	old, err2 := strconv.ParseInt(r[2], 10, 64)
	since, err3 := strconv.ParseInt(r[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return h, errAnswer
	}
	h = hearing{epoch: r[0], now: r[1], old: old}
	if since > 0 {
		h.missed = max(time.Duration(now-since)*time.Millisecond, hearEvery)
	}
	for r = r[4:]; len(r) >= 4; r = r[4:] {
		ms, _ := strconv.ParseInt(r[1], 10, 64)
		version, err := strconv.Atoi(r[3])
		if err != nil {
			version = messageVersion + 1
		}
		h.notices = append(h.notices, heardNotice{r[0], r[2], time.Duration(ms) * time.Millisecond, version})
	}
	return h, nil
}
