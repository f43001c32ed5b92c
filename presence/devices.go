package presence

import "slices"

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
	if held := n.devicesOf(user); len(held) >= maxDevices {
		member := memberOf(user, on.ID)
		if !slices.ContainsFunc(held, func(m Member) bool { return m.ID == member }) {
			on = Device{}
		}
	}
	return on.clone()
}

// keepDevices keeps devicesTopic current here, also while nobody looks.
func (n *node) keepDevices() {
	if n.directory.on() {
		_, _ = n.topics.look(devicesTopic) // an error is that the node ends
	}
}

// devicesOf returns a user's devices as this node knows them: the members of devicesTopic.
func (n *node) devicesOf(user UserID) []Member {
	if !n.directory.on() {
		return nil
	}
	r := n.topics.peek(devicesTopic)
	if r == nil {
		return nil
	}
	view := r.view.Load()
	if view == nil {
		return nil
	}
	return view.roster.withPrefix(user + deviceSeparator)
}

// membersOf returns the members of devicesTopic of a user: those that this node knows of, and
// those that it holds itself.
func (n *node) membersOf(user UserID) []UserID {
	members := n.users.membersHere(user)
	for _, m := range n.devicesOf(user) {
		if !slices.Contains(members, m.ID) {
			members = append(members, m.ID)
		}
	}
	return members
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
