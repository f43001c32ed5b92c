package track

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// endSessionOf is [People.EndSession].
func (s *signOuts) endSessionOf(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	switch {
	case !s.devices.directory.on():
		return presence.ErrNoDirectory
	case !device.Valid():
		return presence.ErrInvalidDevice
	case user == "": // a guest
		return nil
	}
	return s.endSession(ctx, presence.UserID(strings.Clone(string(user))), presence.DeviceID(strings.Clone(string(device))))
}

// devicesGoneIn is how long EndSession waits until this node no longer shows a device: two merge windows of
// backend.DevicesTopic.
const devicesGoneIn = 500 * time.Millisecond

// endSession ends the session of a device, in the order of signOut and for the same reason. Ending the user's
// last device signs the user out.
func (s *signOuts) endSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	if known, err := s.knows(ctx, user, device); err != nil {
		return err
	} else if !known { // another node may have a page view of it that waits for the user's settings
		return storeOut(s.store.Publish(ctx, endedNotice(user, device)))
	}
	last := s.isLast(user, device)
	at := time.Now()
	topics := s.endDevice(user, device, at)
	published := s.notices.publish(ctx, endedNotice(user, device))
	member := backend.MemberOf(user, device)
	ended := s.writer.putAcked(backend.DevicesTopic, cell{member: member, out: at}, wordOut)
	acks := append(s.writeEnded(user, topics, at), ended)
	if last {
		if err := s.signOut(ctx, user); err != nil {
			leave(acks)
			return err
		}
	}
	if published != nil {
		leave(acks)
		return published
	}
	if err := s.writer.await(ctx, acks...); err != nil {
		return err
	}
	s.awaitGone(ctx, member, map[presence.Topic]struct{}{backend.DevicesTopic: {}}, devicesGoneIn)
	return nil
}

// knows reports whether a user is online from a device, as far as this node or the store knows. A client may
// name any number of devices. An unknown one costs one call of the store, and none while the store is out.
func (s *signOuts) knows(ctx context.Context, user presence.UserID, device presence.DeviceID) (bool, error) {
	member := backend.MemberOf(user, device)
	if slices.Contains(s.where.devicesOf(user), member) {
		return true, nil
	}
	if s.outage.latestFailed() {
		return false, presence.ErrStoreOut
	}
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	sightings, err := s.store.Sightings(ctx, backend.DevicesTopic, member)
	if err != nil || len(sightings) != 1 {
		return false, cmp.Or(storeOut(err), presence.ErrStoreOut)
	}
	return sightings[0].Online, nil
}

// isLast reports whether a device is the only one from which its user is online, as far as this node knows.
func (s *signOuts) isLast(user presence.UserID, device presence.DeviceID) bool {
	known := false
	for m := range s.devices.of(user) {
		if m.ID != backend.MemberOf(user, device) {
			return false
		}
		known = true
	}
	for _, c := range s.users.connectionsOf(user) { // including connections that have just been opened
		if c.holds() && c.visitor.Device.ID != device {
			return false
		}
	}
	return known
}

// hearEnded ends what a device holds on this node, after its session was ended on any node.
func (s *signOuts) hearEnded(n backend.Notice) {
	at := time.Now().Add(-n.Ago)
	s.writeEnded(n.User, s.endDevice(n.User, presence.DeviceID(strings.Clone(n.Payload)), at), at)
}

// writeEnded makes a user leave those topics in which no connection holds the user.
func (s *signOuts) writeEnded(user presence.UserID, topics []presence.Topic, at time.Time) (acks []*ack) {
	for _, topic := range topics {
		if topic.Local() != presence.Site && topic != backend.DevicesTopic {
			acks = append(acks, s.writer.putAcked(topic, cell{member: user, off: at}, wordOut))
		}
	}
	return acks
}

// endDevice ends the user's connections here that a device opened before a moment. Page views of the device before that
// no longer count. The connections of other devices take the place of page views, and where there are none, page
// views of other devices hold the user again. It returns the topics in which no other device has viewed a page here.
func (s *signOuts) endDevice(user presence.UserID, device presence.DeviceID, at time.Time) []presence.Topic {
	s.users.records.end(backend.MemberOf(user, device), at) // so page views of it that wait for the user's settings are dropped
	topics := s.users.removeViewsOf(user, device, at)
	s.endWhere(user, at, func(h *holder) bool { return h.visitor.Device.ID == device })
	if endingAt(at) == leaving {
		for _, c := range s.users.connectionsOf(user) {
			s.leases.joined(c)
		}
	}
	s.leases.viewedSince(at, s.users.viewsElsewhere(user, device)...)
	return topics
}

// viewsElsewhere returns the live page views of a user's other devices, in those topics in which none of
// their connections holds the user here.
func (p *users) viewsElsewhere(user presence.UserID, device presence.DeviceID) (views []pageView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.byID[user]
	if u == nil {
		return nil
	}
	for _, v := range u.views {
		if v.device.ID != device && !v.doubtful && time.Since(v.at) < p.cfg.Age && v.topic != backend.DevicesTopic && !u.heldBy(v.topic, device) {
			views = append(views, v)
		}
	}
	return views
}

// heldBy reports whether a connection of another device than not holds the user in a topic.
func (u *knownUser) heldBy(topic presence.Topic, not presence.DeviceID) bool {
	for _, c := range u.connections {
		if c.visitor.Device.ID != not && c.enters(topic) {
			return true
		}
	}
	return false
}

func endedNotice(user presence.UserID, device presence.DeviceID) backend.Notice {
	return backend.Notice{Kind: backend.NoticeEnded, User: user, Payload: string(device), Lasting: true}
}
