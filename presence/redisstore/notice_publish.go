package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Publish implements [backend.Store].
func (s *bus) Publish(ctx context.Context, n backend.Notice) error {
	text, err := encodeNotice(n)
	if err != nil {
		return wrap("notify", err)
	}
	if err := s.ready(ctx, s.writes); err != nil {
		return err
	}
	message, entry := versioned(text), ""
	if n.Lasting {
		message, entry = versioned(""), text
	}
	status := n.Status()
	user := ""
	if status != "" {
		user = string(n.User)
	}
	r, err := s.texts(ctx, s.writes, "notify", 0, eval{noticePublishScript, append(s.noticeLog(), s.statusKeys()...), []any{
		s.now(), s.publish(), s.live() + s.place(), message, entry, messageVersion, noticesKeep.Milliseconds(), maxNotices, rand.Text(),
		user, string(status), n.Ago.Milliseconds(), int64(n.Order),
	}})
	switch {
	case err != nil:
		return err
	case len(r) == 0:
		return wrap("notify", presence.ErrLaterChoice)
	case len(r) != 2:
		return wrap("notify", errAnswer)
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
