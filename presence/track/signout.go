package track

import (
	"cmp"
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

// A sign-out ends all that holds a user, or the part of a browser or a device. The payload of its notice says which: nothing, or one
// of these words and the id.
const (
	ofBrowser = "browser"
	ofDevice  = "device"
)

func signOutNotice(user presence.UserID, of, id string) backend.Notice {
	n := backend.SignOutNotice(user)
	n.Payload = of + " " + id
	return n
}

// signOut is [Tracker.SignOut].
func (s *signOuts) signOut(ctx context.Context, user presence.UserID) error {
	if user == "" { // a guest
		return nil
	}
	at := time.Now()
	return s.tell(ctx, at, s.signedOut(presence.UserID(strings.Clone(string(user))), at))
}

// A signedOut is what ends by a sign-out: of whom or what its notice says, and in the store also where this node holds nothing.
type signedOut struct {
	notice    backend.Notice
	elsewhere placed
}

// signedOut returns the sign-out of a user at a moment. It is a proof of life (rule 5): otherwise its moment would differ from that of
// turning invisible.
func (s *signOuts) signedOut(user presence.UserID, at time.Time) signedOut {
	if len(s.where.devicesOf(user)) > 0 {
		s.users.see(s.lastSeen, presence.User{ID: user}, proof{at: at})
	}
	return signedOut{backend.SignOutNotice(user), placed{siteOf(user), cell{member: user, out: at}}}
}

// tell ends what sign-outs at a moment end at this node. Then it tells all nodes, and only then ends the leases that any node may hold.
// A node that finds a lease gone and has heard all notices therefore knows that the user signed out (see flusher.applied).
func (s *signOuts) tell(ctx context.Context, at time.Time, outs ...signedOut) error {
	var all []placed
	var acks []*ack
	var untold error
	for _, out := range outs {
		ended := append(s.end(out.notice, at), out.elsewhere)
		untold = cmp.Or(untold, s.notices.publish(ctx, out.notice))
		all, acks = append(all, ended...), append(acks, s.write(ended)...)
	}
	if untold != nil {
		leave(acks)
		return untold
	}
	if err := s.writer.await(ctx, acks...); err != nil {
		return err
	}
	for _, out := range outs {
		if user := out.notice.User; out.elsewhere.member != user || len(s.users.connectionsOf(user)) == 0 {
			s.awaitGone(ctx, out.elsewhere.member, all)
		}
	}
	return nil
}

// hear ends what a sign-out at some node ends here, and ends it in the store too: what is just being written may arrive after the
// sign-out.
//
// Example: Redis holds up writes. Node A makes Alice's page view again, and she signs out at node B. When Redis goes
// on, it takes the sign-out first.
func (s *signOuts) hear(n backend.Notice) { leave(s.write(s.end(n, time.Now().Add(-n.Ago)))) }

// end ends what a sign-out at a moment ends here.
func (s *signOuts) end(n backend.Notice, at time.Time) []placed {
	switch of, id, _ := strings.Cut(n.Payload, " "); of {
	case "":
		return s.endUser(n.User, at)
	case ofBrowser:
		return s.endBrowser(n.User, id, at)
	case ofDevice:
		return s.endDevice(n.User, presence.DeviceID(strings.Clone(id)), at)
	}
	return nil // of a version that this one does not know
}

// write writes what has ended. [leave] the acks.
func (s *signOuts) write(all []placed) (acks []*ack) {
	for _, e := range all {
		acks = append(acks, s.writer.putAcked(e.topic, e.cell, wordOut))
	}
	return acks
}

// endUser ends a user's connections here whose pages asked for them before a moment. While the store is out, a connection may open
// long after its page asked.
func (s *signOuts) endUser(user presence.UserID, at time.Time) (all []placed) {
	s.users.records.end(user, at)
	devices := s.where.devicesOf(user)
	topics := s.endWhere(user, at, func(*holder) bool { return true })
	if len(devices) > 0 {
		topics[backend.DevicesTopic] = struct{}{}
	}
	for topic := range topics {
		for _, member := range membersIn(topic, user, devices) {
			all = append(all, placed{topic, cell{member: member, out: at}})
		}
	}
	for _, r := range s.topics.all() {
		for _, member := range membersIn(r.out.topic, user, devices) {
			r.look(member)
		}
	}
	s.users.removeViews(user, at)
	s.stays(user)
	return all
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

// endWhere ends the user's connections and visits here for which ends returns true. A connection stays if its visitor was identified
// after the sign-out: it belongs to a later sign-in. It returns the topics in which this node may hold the user, or writes something
// of the user.
func (s *signOuts) endWhere(user presence.UserID, at time.Time, ends func(*holder) bool) map[presence.Topic]struct{} {
	topics, how := s.users.topicsOf(user), endingAt(at)
	held := s.writer.holding(user)
	for _, c := range s.users.connectionsOf(user) {
		if ends(c) && !s.users.identified(c).After(at) {
			held = append(held, c.conn.finish(presence.ErrSignedOut, how)...)
		}
	}
	for _, topic := range held {
		topics[topic] = struct{}{}
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

// awaitGone waits until topics here no longer show a member, so that the next page does not show the user
// either. That takes about a merge window, and two at most.
func (s *signOuts) awaitGone(ctx context.Context, member presence.UserID, from []placed) {
	most := 2 * s.cfg.MergeWindow
	if _, device := backend.OwnerOf(member); device != "" {
		most = devicesGoneIn
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for _, e := range from {
		r := s.topics.peek(e.topic)
		if r == nil || e.member != member {
			continue
		}
		for shown := true; shown; {
			view := r.view.Load()
			if view == nil || view.counting { // totals may lag
				break
			}
			if _, shown = view.Member(member); shown && !wait.For(ctx, most/20) {
				return
			}
		}
	}
}
