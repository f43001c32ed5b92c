package presence

import (
	"context"
	"strings"
	"time"
)

// maxBrowser bounds Visitor.Browser, in bytes. A longer one counts as unknown.
const maxBrowser = 64

// SignOff signs a user out of one browser, at once and on every node. It ends the
// connections that were opened with that [Visitor].Browser. In a topic where another
// connection holds the user, others see nothing. In all other topics SignOff is what
// [Tracker.SignOut] is: the user leaves at once. The page views of all browsers are one
// lease, so a browser that has no connection does not hold the user after a SignOff.
//
// Connections whose browser is not known end too, because they may be of this one. If
// browser is empty, SignOff is SignOut. Only connections of the given user end, so a client
// that makes up a browser's id ends its own user's connections at most.
//
// SignOff returns when the store knows, and a moment later if the topics here still show
// the user. If ctx ends before, it returns an error, and the user is signed off once the
// store is back.
//
//	v := presence.VisitorFromContext(r.Context())
//	err := tracker.SignOff(r.Context(), v.User.ID, v.Browser)
func (t *Tracker) SignOff(ctx context.Context, user UserID, browser string) error {
	if browser == "" || len(browser) > maxBrowser {
		return t.SignOut(ctx, user)
	}
	return t.signOuts.signOff(ctx, user, strings.Clone(browser))
}

// knownBrowser returns a copy of a browser's id, or "" for one that is too long.
func knownBrowser(id string) string {
	if len(id) > maxBrowser {
		return ""
	}
	return strings.Clone(id)
}

// signOff signs a user out of a browser, in the order of signOut and for the same reason.
func (s *signOuts) signOff(ctx context.Context, user UserID, browser string) error {
	if user == "" { // a guest
		return nil
	}
	user = UserID(strings.Clone(string(user)))
	topics := s.endBrowser(user, browser, 0)
	published := s.notices.publish(ctx, signOffNotice(user, browser))
	acks := make([]*ack, 0, len(topics))
	for topic := range topics {
		acks = append(acks, s.writer.addAcked(topic, Op{Kind: OpSignOff, User: User{ID: user}}))
	}
	if published != nil {
		return published
	}
	if err := s.await(ctx, acks...); err != nil {
		return err
	}
	if len(s.people.connectionsOf(user)) == 0 {
		s.awaitGone(ctx, user, topics)
	}
	return nil
}

// hearOff ends what a browser here holds whose user signed out of it at some node.
func (s *signOuts) hearOff(n Notice) {
	topics := s.endBrowser(n.User, n.Payload, n.Ago)
	delete(topics, Site) // the sender writes there; the user may be back by now
	if n.Ago > 0 {       // as in hear
		return
	}
	for topic := range topics {
		s.writer.add(topic, Op{Kind: OpSignOff, User: User{ID: n.User}})
	}
}

// endBrowser ends a user's connections here of a browser, or of an unknown one, that were
// open some time ago. It returns the topics in which this node may hold the user, and that
// of the site. Page views until then no longer count. The connections that stay take the
// place of those of the user's other browsers, as if their pages had joined them now (rule
// 6): else a view of the browser that signed off could outlast the last connection.
func (s *signOuts) endBrowser(user UserID, browser string, ago time.Duration) map[Topic]struct{} {
	at, kind := time.Now().Add(-ago), OpSignOff
	if ago > 0 { // what else holds the user may be of a later sign-in
		kind = OpDrop
	}
	s.people.voidViews(user, at)
	topics := s.people.topicsOf(user)
	topics[Site] = struct{}{}
	for _, c := range s.people.connectionsOf(user) {
		opened, of := s.people.openedAt(c), c.visitor.Browser
		switch {
		case ago > 0 && (opened.IsZero() || opened.After(at)): // of a later sign-in
			continue
		case of != browser && of != "":
			if ago == 0 {
				c.renew(OpFollow)
			}
			continue
		}
		for _, topic := range c.finish(ErrSignedOut, kind) {
			topics[topic] = struct{}{}
		}
	}
	s.people.removeViews(user, at)
	return topics
}
