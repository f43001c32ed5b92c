package presence

import "time"

// DeviceOn puts a device of a user into the topic of devices, as a connection there does.
func (t *Tracker) DeviceOn(user User, on Device, s Settings, since time.Time) {
	user.ID, user.Status, user.Data = memberOf(user.ID, on.ID), wordOf(s.At(time.Now()), since).asStatus(), on.data()
	t.writer.add(devicesTopic, Op{Kind: OpJoin, User: user, Holder: Holder("x." + string(on.ID)), For: 1000 * time.Hour})
}

// DeviceOff takes it out.
func (t *Tracker) DeviceOff(user UserID, on DeviceID) {
	t.writer.add(devicesTopic, Op{Kind: OpDrop, User: User{ID: memberOf(user, on)}, Holder: Holder("x." + string(on))})
}

// Choose changes what a user's device says of the settings.
func (t *Tracker) Choose(user UserID, on DeviceID, s Settings, since time.Time) {
	t.writer.add(devicesTopic, updateOf(memberOf(user, on), wordOf(s.At(time.Now()), since).asStatus()))
}

// DeviceOp is the operation of DeviceOn, for a store.
func DeviceOp(user User, on Device, s Settings, since time.Time) Op {
	user.ID, user.Status, user.Data = memberOf(user.ID, on.ID), wordOf(s.At(time.Now()), since).asStatus(), on.data()
	return Op{Kind: OpJoin, User: user, Holder: Holder("x." + string(on.ID)), For: 1000 * time.Hour}
}

// DeviceOffOp is the operation of DeviceOff.
func DeviceOffOp(user UserID, on DeviceID) Op {
	return Op{Kind: OpDrop, User: User{ID: memberOf(user, on)}, Holder: Holder("x." + string(on))}
}

// HearRelations is the notice that a user's relations have changed.
func (t *Tracker) HearRelations(user UserID) { t.people.relationsChanged(user) }

// MissRelations is the loss of such notices.
func (t *Tracker) MissRelations() { t.people.relationsMissed() }

// LoudOver makes a person loud who has more followers.
func (t *Tracker) LoudOver(n int) { t.people.loudOver = n }

// Watching returns how many people are watched here, by how many lists, over how many edges.
func (t *Tracker) Watching() (persons, lists, edges int) {
	t.people.mu.Lock()
	defer t.people.mu.Unlock()
	return len(t.people.byID), len(t.people.lists) - len(t.people.free), t.people.edges
}

// RelationQueries returns how often the Directory was asked for relations of lists.
func (t *Tracker) RelationQueries() uint64 {
	t.people.relations.mu.Lock()
	defer t.people.relations.mu.Unlock()
	return t.people.relations.queries
}

// DevicesTopic is devicesTopic.
const DevicesTopic = devicesTopic
