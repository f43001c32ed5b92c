package track

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// signOuts ends everything that holds a user online.
type signOuts struct {
	cfg     *Config
	store   backend.Store
	outage  *outage
	writer  *writer
	users   *users
	topics  *topics
	notices *notices
	devices *deviceRoster
	where   *whereabouts
	leases  *leases

	lastSeen *lastSeen
}

// signOut signs a user out. It ends this node's own connections first, then tells all
// nodes, and only then ends the leases that any node may hold (OpSignOut). A node that
// finds a lease gone and has heard all notices therefore knows that the user signed out
// (see flusher.applied).
func (s *signOuts) signOut(ctx context.Context, user presence.UserID) error {
	if user == "" { // a guest
		return nil
	}
	user = presence.UserID(strings.Clone(string(user)))
	devices := s.where.devicesOf(user)
	if len(devices) > 0 { // a sign-out is a proof of life (rule 5): otherwise its moment would differ from that of turning invisible
		s.users.see(s.lastSeen, presence.User{ID: user}, proof{at: time.Now()})
	}
	at := time.Now()
	topics := s.endHere(user, at)
	topics[siteOf(user)] = struct{}{}
	published := s.notices.publish(ctx, backend.SignOutNotice(user))
	acks := s.write(topics, user, devices, at)
	if published != nil {
		leave(acks)
		return published
	}
	if err := s.writer.await(ctx, acks...); err != nil {
		return err
	}
	s.awaitGone(ctx, user, topics, 2*s.cfg.MergeWindow)
	return nil
}

// hear ends what holds a user here, after the user signed out at some node, and ends it in the store too: what is just being
// written may arrive after the sign-out.
//
// Example: Redis holds up writes. Node A makes Alice's page view again, and she signs out at node B. When Redis goes
// on, it takes the sign-out first.
func (s *signOuts) hear(n backend.Notice) {
	at := time.Now().Add(-n.Ago)
	devices := s.where.devicesOf(n.User)
	leave(s.write(s.endHere(n.User, at), n.User, devices, at))
}

// write signs a user and the user's devices out of some topics. [leave] the acks.
func (s *signOuts) write(topics map[presence.Topic]struct{}, user presence.UserID, devices []presence.UserID, at time.Time) (acks []*ack) {
	for topic := range topics {
		for _, member := range membersIn(topic, user, devices) {
			acks = append(acks, s.writer.putAcked(topic, cell{member: member, out: at}, wordOut))
		}
	}
	return acks
}

// endHere ends a user's connections here whose pages asked for them before a moment. It returns the topics in which this
// node may hold the user, or writes something of the user. While the store is out, a connection may open long after its page
// asked.
func (s *signOuts) endHere(user presence.UserID, at time.Time) map[presence.Topic]struct{} {
	s.users.records.end(user, at)
	topics := s.users.topicsOf(user)
	for _, topic := range s.writer.holding(user) {
		topics[topic] = struct{}{}
	}
	devices := s.where.devicesOf(user)
	if len(devices) > 0 {
		topics[backend.DevicesTopic] = struct{}{}
	}
	for _, topic := range s.endWhere(user, at, func(*holder) bool { return true }) {
		topics[topic] = struct{}{}
	}
	for _, r := range s.topics.all() {
		for _, member := range membersIn(r.out.topic, user, devices) {
			r.look(member)
		}
	}
	s.users.removeViews(user, at)
	s.stays(user)
	return topics
}

// stays says once more of a user's pages that have stayed, or come since, that they hold the user, after any call that tells of the
// sign-out has ended. Such a call may have been under way for long, and a store takes its moment for later than it was.
func (s *signOuts) stays(user presence.UserID) {
	time.AfterFunc(applyTimeout, func() {
		for _, c := range s.users.connectionsOf(user) {
			s.leases.put(c, toKeep)
		}
	})
}

// endWhere ends the user's connections and visits here for which ends returns true. It returns the topics of the
// connections that it ended. A connection stays if its visitor was identified after the sign-out: it belongs to a later
// sign-in.
func (s *signOuts) endWhere(user presence.UserID, at time.Time, ends func(*holder) bool) (topics []presence.Topic) {
	how := endingAt(at)
	for _, c := range s.users.connectionsOf(user) {
		if ends(c) && !s.users.identified(c).After(at) {
			topics = append(topics, c.conn.finish(presence.ErrSignedOut, how)...)
		}
	}
	return topics
}

// endingAt returns the ending of the connections of who signed out at a moment. A sign-out is a proof of
// life (rule 5), but not one that is heard late: the user may be gone for long.
func endingAt(at time.Time) ending {
	if time.Since(at) > time.Second {
		return dropped
	}
	return leaving
}

// awaitGone waits until topics here no longer show a user, so that the next page does not show the user
// either. That takes about a merge window.
func (s *signOuts) awaitGone(ctx context.Context, user presence.UserID, topics map[presence.Topic]struct{}, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for topic := range topics {
		r := s.topics.peek(topic)
		if r == nil {
			continue
		}
		for shown := true; shown; {
			view := r.view.Load()
			if view == nil || view.counting { // totals may lag
				break
			}
			if _, shown = view.Member(user); shown && !wait.For(ctx, most/20) {
				return
			}
		}
	}
}
