package track

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The whereabouts of a user are where this node holds the user, or shows the user: in which topics, and by which devices. What changes for a user everywhere, such as a choice, a
// sign-out or an erasure, changes there.
type whereabouts struct {
	users   *users
	topics  *topics
	devices *deviceRoster
}

// showing returns the topics in which the store shows a user, as far as this node has read them: also those whose roster
// here keeps the user out.
func (h *whereabouts) showing(user presence.UserID) (topics []presence.Topic) {
	for _, r := range h.topics.all() {
		if view := r.view.Load(); view != nil && (view.roster.get(user) != nil || r.apartOf(user).stored != nil) {
			topics = append(topics, r.out.topic)
		}
	}
	return topics
}

// writtenHere returns the topics in which this node, the publisher of a user's choice, writes it: first, and
// then the topics in which it may hold or shows the user.
func (h *whereabouts) writtenHere(user presence.UserID, first ...presence.Topic) []presence.Topic {
	held := h.users.topicsOf(user)
	for _, topic := range h.showing(user) {
		held[topic] = struct{}{}
	}
	for _, topic := range first {
		delete(held, topic)
	}
	return append(first, slices.Sorted(maps.Keys(held))...)
}

// devicesOf returns the members of backend.DevicesTopic that belong to a user: those in the roster here, and those that
// this node holds itself.
//
// While a roster is provisional, its view may lack devices that the store has.
func (h *whereabouts) devicesOf(user presence.UserID) []presence.UserID {
	h.users.mu.Lock()
	members := h.devicesLocked(user)
	h.users.mu.Unlock()
	if r := h.topics.peek(backend.DevicesTopic); r != nil {
		members = append(members, r.keptOut(user)...)
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// devicesLocked is devicesOf with users.mu held, without the devices that are missing in the view.
func (h *whereabouts) devicesLocked(user presence.UserID) []presence.UserID {
	members := h.users.membersHereLocked(user)
	for m := range h.devices.of(user) {
		members = append(members, m.ID)
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// topicsOf returns the topics in which this node may hold a user: by a page view, by a
// connection, or by the grace after one.
func (p *users) topicsOf(user presence.UserID) map[presence.Topic]struct{} {
	topics := make(map[presence.Topic]struct{})
	p.with(user, func(u *knownUser) {
		for _, view := range u.views {
			if time.Since(view.at) < p.viewsMatterFor() {
				topics[view.topic] = struct{}{}
			}
		}
		for topic, at := range u.released {
			if time.Since(at) <= p.cfg.grace(topic)+time.Second {
				topics[topic] = struct{}{}
			}
		}
		for _, c := range u.connections {
			for _, topic := range c.heldTopics() {
				topics[topic] = struct{}{}
			}
		}
	})
	return topics
}

// connectionsOf returns a user's open connections.
func (p *users) connectionsOf(user presence.UserID) (all []*holder) {
	p.with(user, func(u *knownUser) { all = slices.Clone(u.connections) })
	return all
}

// membersHereLocked returns the devices of a user that a connection or a page view of this node may hold in
// backend.DevicesTopic. Some are in it twice.
func (p *users) membersHereLocked(user presence.UserID) (members []presence.UserID) {
	u := p.byID[user]
	if u == nil {
		return nil
	}
	for _, c := range u.connections {
		if c.holdsDevice() {
			members = append(members, c.member(backend.DevicesTopic))
		}
	}
	for _, v := range u.views {
		if v.topic == backend.DevicesTopic {
			members = append(members, backend.MemberOf(user, v.device.ID))
		}
	}
	return members
}

// membersIn returns the names under which a topic has a user: the user, or in backend.DevicesTopic the
// devices.
func membersIn(topic presence.Topic, user presence.UserID, devices []presence.UserID) []presence.UserID {
	if topic == backend.DevicesTopic {
		return devices
	}
	return []presence.UserID{user}
}

// ownerIn returns the user of a member of a topic: the user itself, or the owner of a device.
func ownerIn(topic presence.Topic, member presence.UserID) presence.UserID {
	if topic != backend.DevicesTopic {
		return member
	}
	owner, _ := backend.OwnerOf(member)
	return owner
}
