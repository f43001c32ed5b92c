package presence

import (
	"iter"
	"slices"
	"time"
)

// maxDevices is how many devices a user has at most: each that a client makes up costs the
// whole fleet. Further ones count together, as a device of which nothing is known.
const maxDevices = 32

// deviceOf returns the device under which a user is held here.
func (n *node) deviceOf(user UserID, on Device) Device {
	if !n.directory.on() || user == "" {
		return Device{}
	}
	if on.Validate() != nil {
		on = Device{}
	}
	var some [8]DeviceID
	held, known := some[:0], false
	for m := range n.devicesOf(user) {
		held = append(held, DeviceID(m.ID[len(user)+1:]))
		known = known || held[len(held)-1] == on.ID
	}
	on = on.clone()
	if !known && on.ID != "" && !n.users.admitDevice(user, on.ID, held) {
		on = Device{}
	}
	return on
}

// newcomerFor is how long a device takes at most until devicesOf has it.
const newcomerFor = 2 * time.Second

// admitDevice reports whether a user may have one more device, which devicesOf does not have
// yet. The devices that came here a moment ago count: there may be many at once.
func (p *users) admitDevice(user UserID, on DeviceID, held []DeviceID) bool {
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
	id DeviceID
	at time.Time
}

// devicesOf yields a user's devices as this node knows them: the members of devicesTopic.
func (n *node) devicesOf(user UserID) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		if !n.directory.on() {
			return
		}
		if r := n.topics.peek(devicesTopic); r != nil {
			if view := r.view.Load(); view != nil {
				view.roster.devicesOf(user, yield)
			}
		}
	}
}

// hasDevice reports whether this node knows of any device of a user.
func (n *node) hasDevice(user UserID) bool {
	for range n.devicesOf(user) {
		return true
	}
	return false
}

// devicesKnown reports whether devicesTopic is loaded here.
func (n *node) devicesKnown() bool {
	r := n.topics.peek(devicesTopic)
	return r != nil && r.view.Load() != nil
}

// membersOf returns the members of devicesTopic of a user: those that this node knows of, those
// that it holds itself, and those of which it has yet to write something.
//
// Example: node A stands still for ten seconds, and the others sweep Alice's page there. She hides,
// and closes it. Then A goes on, and hears first that she left, and then that she hid. It knows of
// none of her devices, but her page's join and release wait to be written, as online.
//
// A roster that is provisional may keep devices out of its view, which the store has.
func (n *node) membersOf(user UserID) []UserID {
	n.users.mu.Lock()
	members := n.membersOfLocked(user)
	n.users.mu.Unlock()
	if r := n.topics.peek(devicesTopic); r != nil {
		members = append(members, r.withheldOf(user)...)
	}
	return members
}

// membersOfLocked is membersOf with users.mu held.
func (n *node) membersOfLocked(user UserID) []UserID {
	members := append(n.users.membersHereLocked(user), n.writer.devicesOf(user)...)
	for m := range n.devicesOf(user) {
		members = append(members, m.ID)
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// membersIn returns whom a topic has of a user: the user, or in devicesTopic the devices.
func membersIn(topic Topic, user UserID, devices []UserID) []UserID {
	if topic == devicesTopic {
		return devices
	}
	return []UserID{user}
}

// membersHere returns the devices of a user that a connection or a page view of this node may
// hold in devicesTopic.
func (p *users) membersHere(user UserID) (members []UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.membersHereLocked(user)
}

func (p *users) membersHereLocked(user UserID) (members []UserID) {
	u := p.byID[user]
	if u == nil {
		return nil
	}
	add := func(member UserID) {
		if !slices.Contains(members, member) {
			members = append(members, member)
		}
	}
	for c := range u.connections {
		if c.holdsDevice() {
			add(c.member(devicesTopic))
		}
	}
	for _, v := range u.views {
		if v.topic == devicesTopic {
			add(memberOf(user, v.device.ID))
		}
	}
	return members
}
