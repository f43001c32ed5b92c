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
	topics := s.endBrowser(user, browser, 0)
	published := s.notices.publish(ctx, signOffNotice(user, browser))
	acks := make([]*ack, 0, len(topics))
	for topic := range topics {
		acks = append(acks, s.writer.putAcked(topic, operation{Op: backend.Op{Kind: backend.OpSignOff, User: s.users.hiding(user)}}))
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
	topics := s.endBrowser(n.User, n.Payload, n.Ago)
	delete(topics, siteOf(n.User)) // the sender writes this topic, and the user may be back by now
	if n.Ago > 0 {                 // see signOuts.hear
		return
	}
	for topic := range topics {
		s.writer.add(topic, backend.Op{Kind: backend.OpSignOff, User: s.users.hiding(n.User)})
	}
}

// endBrowser ends the user's connections here that the browser, or an unknown one, opened before a moment,
// which was ago before now. Page views before that no longer count. It returns the topics in which this node
// may hold the user, and the site's.
//
// Connections of other browsers stay, and take the place of all page views, as if their pages had joined them
// now (rule 6). Otherwise a view from the browser that signed off could hold the user after the last
// connection has closed.
func (s *signOuts) endBrowser(user presence.UserID, browser string, ago time.Duration) map[presence.Topic]struct{} {
	at, kind := time.Now().Add(-ago), backend.OpSignOff
	if ago > 0 { // the remaining leases may belong to a later sign-in
		kind = backend.OpDrop
	}
	of := func(v presence.Visitor) bool { return v.Browser == browser || v.Browser == "" }
	s.users.voidViews(user, at)
	s.writer.signOut(user, at, of)
	s.writer.forgetViews(user, at)
	topics := s.users.topicsOf(user)
	topics[siteOf(user)] = struct{}{}
	ended := s.endWhere(user, ago, kind, of)
	for _, topic := range ended {
		topics[topic] = struct{}{}
	}
	s.users.removeViews(user, at)
	return topics
}

// endWhere ends the user's connections here for whose visitor ends returns true. It returns the topics of the
// connections that it ended. A connection stays if its visitor was identified after the sign-out, which was
// ago before now: it belongs to a later sign-in. Each other connection that stays is written as newer than
// all page views of the user (OpFollow), so that closing it removes the user.
func (s *signOuts) endWhere(user presence.UserID, ago time.Duration, kind backend.OpKind, ends func(presence.Visitor) bool) (topics []presence.Topic) {
	at := time.Now().Add(-ago)
	for _, c := range s.users.connectionsOf(user) {
		switch {
		case ago > 0 && s.users.identified(c).After(at): // it belongs to a later sign-in
		case ends(c.visitor):
			topics = append(topics, c.conn.finish(presence.ErrSignedOut, kind)...)
		case ago == 0:
			s.leases.renew(c, backend.OpFollow)
		}
	}
	return topics
}

func signOffNotice(user presence.UserID, browser string) backend.Notice {
	return backend.Notice{Kind: backend.NoticeSignedOff, User: user, Payload: browser, Lasting: true}
}
