package track

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxBrowser bounds Visitor.Browser, in bytes. A longer one counts as unknown.
const maxBrowser = 64

// knownBrowser returns a copy of a browser's id, or "" for one that is too long.
func knownBrowser(id string) string {
	if len(id) > maxBrowser {
		return ""
	}
	return strings.Clone(id)
}

// signOff signs a user out of a browser, in the order of signOut and for the same reason.
func (s *signOuts) signOff(ctx context.Context, user presence.UserID, browser string) error {
	switch {
	case browser == "" || len(browser) > maxBrowser:
		return s.signOut(ctx, user)
	case user == "": // a guest
		return nil
	}
	user, browser = presence.UserID(strings.Clone(string(user))), strings.Clone(browser)
	at := time.Now()
	topics := s.endBrowser(user, browser, at)
	topics[siteOf(user)] = struct{}{}
	published := s.notices.publish(ctx, signOffNotice(user, browser))
	acks := make([]*ack, 0, len(topics))
	for topic := range topics {
		acks = append(acks, s.writer.putAcked(topic, cell{member: user, off: at}, wordOut))
	}
	if published != nil {
		leave(acks)
		return published
	}
	if err := s.writer.await(ctx, acks...); err != nil {
		return err
	}
	if len(s.users.connectionsOf(user)) == 0 {
		s.awaitGone(ctx, user, topics, 2*s.cfg.MergeWindow)
	}
	return nil
}

// hearOff ends what a browser holds on this node, after its user signed out of it on any node.
func (s *signOuts) hearOff(n backend.Notice) {
	at := time.Now().Add(-n.Ago)
	for topic := range s.endBrowser(n.User, n.Payload, at) {
		s.writer.put(topic, cell{member: n.User, off: at})
	}
}

// endBrowser ends the user's connections here that the browser, or an unknown one, opened before a moment. Page views
// before that no longer count. It returns the topics in which this node may hold the user.
//
// Connections of other browsers stay, and take the place of all page views (rule 3). Otherwise a view from the
// browser that signed off could hold the user after the last connection has closed.
func (s *signOuts) endBrowser(user presence.UserID, browser string, at time.Time) map[presence.Topic]struct{} {
	tag := tagOf(browser)
	s.users.records.endBrowser(user, tag, at)
	s.users.records.endViews(user, at)
	topics := s.users.topicsOf(user)
	for _, topic := range s.writer.holding(user) {
		topics[topic] = struct{}{}
	}
	delete(topics, backend.DevicesTopic)
	of := func(h *holder) bool { return h.browser() == tag || h.browser() == "" }
	for _, topic := range s.endWhere(user, at, of) {
		topics[topic] = struct{}{}
	}
	s.users.removeViews(user, at)
	return topics
}

func signOffNotice(user presence.UserID, browser string) backend.Notice {
	return backend.Notice{Kind: backend.NoticeSignedOff, User: user, Payload: browser, Lasting: true}
}
