package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"

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
