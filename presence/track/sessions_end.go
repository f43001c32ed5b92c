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

// endSession ends the session of a device. Ending the user's last device signs the user out.
func (s *signOuts) endSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	n := signOutNotice(user, ofDevice, string(device))
	if known, err := s.knows(ctx, user, device); err != nil {
		return err
	} else if !known { // another node may have a page view of it that waits for the user's settings
		return storeOut(s.store.Publish(ctx, n))
	}
	at := time.Now()
	outs := []signedOut{{n, placed{backend.DevicesTopic, cell{member: backend.MemberOf(user, device), out: at}}}}
	if s.isLast(user, device) {
		outs = append(outs, s.signedOut(user, at))
	}
	return s.tell(ctx, at, outs...)
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

// endDevice ends the user's connections here that a device opened before a moment. Page views of the device before that
// no longer count. The connections of other devices take the place of page views, and where there are none, page
// views of other devices hold the user again. The user leaves the topics in which no other device has viewed a page here.
func (s *signOuts) endDevice(user presence.UserID, device presence.DeviceID, at time.Time) (all []placed) {
	s.users.records.end(backend.MemberOf(user, device), at) // so page views of it that wait for the user's settings are dropped
	topics := s.users.removeViewsOf(user, device, at)
	s.endWhere(user, at, func(h *holder) bool { return h.visitor.Device.ID == device })
	if endingAt(at) == leaving {
		for _, c := range s.users.connectionsOf(user) {
			s.leases.joined(c)
		}
	}
	s.leases.viewedSince(at, s.users.viewsElsewhere(user, device)...)
	for _, topic := range topics {
		if topic.Local() != presence.Site && topic != backend.DevicesTopic {
			all = append(all, placed{topic, cell{member: user, off: at}})
		}
	}
	return all
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
