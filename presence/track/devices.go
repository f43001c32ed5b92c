package track

import (
	"iter"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxDevices is how many devices a user has at most: each that a client makes up costs the
// whole fleet. Further ones count together, as a device of which nothing is known.
const maxDevices = 32

// backend.DeviceOf returns the device under which a user is held here.
func (n *node) deviceOf(user presence.UserID, on presence.Device) presence.Device {
	if !n.directory.on() || user == "" {
		return presence.Device{}
	}
	if on.Validate() != nil {
		on = presence.Device{}
	}
	var some [8]presence.DeviceID
	held, known := some[:0], false
	for m := range n.devicesOf(user) {
		held = append(held, presence.DeviceID(m.ID[len(user)+1:]))
		known = known || held[len(held)-1] == on.ID
	}
	on = on.Clone()
	if !known && on.ID != "" && !n.users.admitDevice(user, on.ID, held) {
		on = presence.Device{}
	}
	return on
}

// newcomerFor is how long a device takes at most until devicesOf has it.
const newcomerFor = 2 * time.Second

// admitDevice reports whether a user may have one more device, which devicesOf does not have
// yet. The devices that came here a moment ago count: there may be many at once.
func (p *users) admitDevice(user presence.UserID, on presence.DeviceID, held []presence.DeviceID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.knownLocked(user)
	now := time.Now()
	u.newcomers = slices.DeleteFunc(u.newcomers, func(d newDevice) bool {
		return now.Sub(d.at) > newcomerFor || slices.Contains(held, d.id)
	})
	for _, d := range u.newcomers {
		if d.id == on {
			return true
		}
	}
	if len(held)+len(u.newcomers) >= maxDevices {
		return false
	}
	u.newcomers = append(u.newcomers, newDevice{on, now})
	return true
}

// A newDevice is a device that came here a moment ago.
type newDevice struct {
	id presence.DeviceID
	at time.Time
}

// devicesOf yields a user's devices as this node knows them: the members of backend.DevicesTopic.
func (n *node) devicesOf(user presence.UserID) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		if !n.directory.on() {
			return
		}
		if r := n.topics.peek(backend.DevicesTopic); r != nil {
			if view := r.view.Load(); view != nil {
				view.roster.devicesOf(user, yield)
			}
		}
	}
}

// hasDevice reports whether this node knows of any device of a user.
func (n *node) hasDevice(user presence.UserID) bool {
	for range n.devicesOf(user) {
		return true
	}
	return false
}

// devicesKnown reports whether backend.DevicesTopic is loaded here.
func (n *node) devicesKnown() bool {
	r := n.topics.peek(backend.DevicesTopic)
	return r != nil && r.view.Load() != nil
}

// membersOf returns the members of backend.DevicesTopic of a user: those that this node knows of, those
// that it holds itself, and those of which it has yet to write something.
//
// Example: node A stands still for ten seconds, and the others sweep Alice's page there. She hides,
// and closes it. Then A goes on, and hears first that she left, and then that she hid. It knows of
// none of her devices, but her page's join and release wait to be written, as online.
//
// A roster that is provisional may keep devices out of its view, which the store has.
func (n *node) membersOf(user presence.UserID) []presence.UserID {
	n.users.mu.Lock()
	members := n.membersOfLocked(user)
	n.users.mu.Unlock()
	if r := n.topics.peek(backend.DevicesTopic); r != nil {
		members = append(members, r.withheldOf(user)...)
	}
	return members
}

// membersOfLocked is membersOf with users.mu held.
func (n *node) membersOfLocked(user presence.UserID) []presence.UserID {
	members := append(n.users.membersHereLocked(user), n.writer.devicesOf(user)...)
	for m := range n.devicesOf(user) {
		members = append(members, m.ID)
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// membersIn returns whom a topic has of a user: the user, or in backend.DevicesTopic the devices.
func membersIn(topic presence.Topic, user presence.UserID, devices []presence.UserID) []presence.UserID {
	if topic == backend.DevicesTopic {
		return devices
	}
	return []presence.UserID{user}
}

// membersHere returns the devices of a user that a connection or a page view of this node may
// hold in backend.DevicesTopic.
func (p *users) membersHere(user presence.UserID) (members []presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.membersHereLocked(user)
}

func (p *users) membersHereLocked(user presence.UserID) (members []presence.UserID) {
	u := p.byID[user]
	if u == nil {
		return nil
	}
	add := func(member presence.UserID) {
		if !slices.Contains(members, member) {
			members = append(members, member)
		}
	}
	for c := range u.connections {
		if c.holdsDevice() {
			add(c.member(backend.DevicesTopic))
		}
	}
	for _, v := range u.views {
		if v.topic == backend.DevicesTopic {
			add(backend.MemberOf(user, v.device.ID))
		}
	}
	return members
}
