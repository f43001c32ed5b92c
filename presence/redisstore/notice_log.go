package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Lasting notices are kept in a log, and the message that is published only says that the log has a new one.
// A node whose connection has just broken does not get a message, but a user who signed out must not stay
// online there. So a node reads the log at each message, and with each poll. The log is trimmed by time.
// Notices of the moment, such as closed pages and idle users, are a thousand times as many: they are
// published themselves, and not logged.
const (
	noticesKeep   = 10 * time.Minute // a node that was cut off for longer may miss notices
	maxNoticePage = 250
	// maxNotices bounds the log in any case, at some 100 MB. Notices over it are dropped and counted. Nodes
	// that have not read them notice that.
	maxNotices = 1_000_000
)

// A hearing is the answer of lua/poll.lua.
type hearing struct {
	polled  backend.Polled
	made    bool // the keyspace's hash was missing
	epoch   string
	now     int64         // Unix ms
	missed  time.Duration // notices from up to so long ago may be missing
	notices []heardNotice
}

type heardNotice struct {
	id, text string
	late     time.Duration
	version  int
}

func readHearing(parts []any) (h hearing, err error) {
	r, err := textsOf(parts, 1, 3)
	if err != nil {
		return h, err
	}
	now, err1 := strconv.ParseInt(r[1], 10, 64)
	since, err2 := strconv.ParseInt(r[2], 10, 64)
	if err1 != nil || err2 != nil {
		return h, errAnswer
	}
	h = hearing{epoch: r[0], now: now}
	if since > 0 {
		h.missed = max(time.Duration(now-since)*time.Millisecond, leastMissed)
	}
	for r = r[3:]; len(r) >= 4; r = r[4:] {
		version, _ := strconv.Atoi(r[3])
		h.notices = append(h.notices, heardNotice{r[0], r[2], millisOf(r[1]), version})
	}
	return h, nil
}

// A wireNotice is the JSON of a notice in the log and in messages. Nodes ignore unknown fields and kinds. It is
// converted to and from a Notice, so it does not compile if it lacks a field.
type wireNotice struct {
	Kind    backend.NoticeKind `json:"kind,omitempty"`
	User    presence.UserID    `json:"user,omitempty"`
	Payload string             `json:"payload,omitempty"`
	Lasting bool               `json:"lasting,omitempty"`
	ID      string             `json:"id,omitempty"`
	Ago     time.Duration      `json:"ago,omitempty"` // in ns
	Missed  time.Duration      `json:"-"`
}

func encodeNotice(n backend.Notice) string {
	text, _ := json.Marshal(wireNotice(n)) // JSON can write all of it
	return string(text)
}

func decodeNotice(text string) (backend.Notice, error) {
	var w wireNotice
	err := json.Unmarshal([]byte(text), &w)
	return backend.Notice(w), err
}

// Publish implements [backend.Store].
func (s *bus) Publish(ctx context.Context, n backend.Notice) error {
	if err := s.ready(ctx, s.writes); err != nil {
		return err
	}
	text := encodeNotice(n)
	message, entry := versioned(text), ""
	if n.Lasting {
		message, entry = versioned(""), text
	}
	r, err := s.texts(ctx, s.writes, "notify", 2, eval{noticePublishScript, s.noticeLog(), []any{
		s.now(), s.publish(), s.live() + s.place(), message, entry, messageVersion, noticesKeep.Milliseconds(), maxNotices, rand.Text(),
	}})
	if err != nil {
		return err
	}
	dropped, _ := strconv.ParseInt(r[0], 10, 64)
	s.cut.Add(uint64(max(dropped, 0)))
	for l := range s.listeners.Range {
		if r[1] != "" {
			l.(*listener).sent.Store(&r[1])
		}
	}
	return nil
}
