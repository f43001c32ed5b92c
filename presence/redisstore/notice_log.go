package redisstore

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Notices that last stand in a log, and what is published only says that there is
// one: messages reach those who listen in that moment, and nobody who signed out may
// stay because a node's connection just broke. A node reads the log when it is told,
// and once a second. The log is trimmed by time, and holds nothing else: closed pages
// and idle users, of which there are a thousand times as many, are told live.
const (
	noticesKeep   = 10 * time.Minute // a node that was away for longer may have missed some
	maxNoticePage = 250
	// maxNotices bounds the log whatever comes: some 100 MB. What is dropped then is
	// counted, and nodes that have not read it find out.
	maxNotices = 1_000_000
)

// notices is the name of version 1's channel, and with the log's in one slot.
func (s *Store) notices() string { return s.cfg.Prefix + ":{notices}" }

// noticeLog are the keys of the log: its notices, and its name.
func (s *Store) noticeLog() []string { return []string{s.notices() + ":log", s.notices() + ":epoch"} }

// A hearing is what notice_hear.lua returns.
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
