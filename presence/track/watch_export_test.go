package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// apply applies an operation in the store.
func (t *Tracker) apply(topic presence.Topic, op backend.Op) {
	t.store.Apply(context.Background(), []backend.Batch{{Topic: topic, Ops: []backend.Op{op}, Keep: keepOf(t.cfg.Kind(topic))}})
}

// DeviceOn puts a device of a user into the topic of devices, as a connection there does.
func (t *Tracker) DeviceOn(user presence.User, on presence.Device, s presence.Settings, since time.Time) {
	shown := s.At(time.Now()).Visibility(since)
	user.ID, user.Visibility, user.Data = backend.MemberOf(user.ID, on.ID), &shown, backend.DataOf(on)
	t.apply(backend.DevicesTopic, backend.Op{Kind: backend.OpJoin, User: user, Holder: presence.Holder("x." + string(on.ID)), For: 1000 * time.Hour})
}

// DeviceOff takes it out.
func (t *Tracker) DeviceOff(user presence.UserID, on presence.DeviceID) {
	t.apply(backend.DevicesTopic, backend.Op{Kind: backend.OpRelease, User: presence.User{ID: backend.MemberOf(user, on)}, Holder: presence.Holder("x." + string(on))})
}

// Choose changes what a user's device says of the settings.
func (t *Tracker) Choose(user presence.UserID, on presence.DeviceID, s presence.Settings, since time.Time) {
	shown := s.At(time.Now()).Visibility(since)
	t.apply(backend.DevicesTopic, backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: backend.MemberOf(user, on), Visibility: &shown}})
}

// DeviceOp is the operation of DeviceOn, for a store.
func DeviceOp(user presence.User, on presence.Device, s presence.Settings, since time.Time) backend.Op {
	shown := s.At(time.Now()).Visibility(since)
	user.ID, user.Visibility, user.Data = backend.MemberOf(user.ID, on.ID), &shown, backend.DataOf(on)
	return backend.Op{Kind: backend.OpJoin, User: user, Holder: presence.Holder("x." + string(on.ID)), For: 1000 * time.Hour}
}

// DeviceOffOp is the operation of DeviceOff.
func DeviceOffOp(user presence.UserID, on presence.DeviceID) backend.Op {
	return backend.Op{Kind: backend.OpRelease, User: presence.User{ID: backend.MemberOf(user, on)}, Holder: presence.Holder("x." + string(on))}
}

// HearRelations is the notice that a user's relations have changed.
func (t *Tracker) HearRelations(user presence.UserID) { t.peopleHere.relationsChanged(user) }

// MissRelations is the loss of such notices.
func (t *Tracker) MissRelations() { t.peopleHere.relationsMissed() }

// LoudOver makes a person loud who has more followers.
func (t *Tracker) LoudOver(n int) { t.peopleHere.loudOver = n }

// Watching returns how many people are watched here, by how many lists, over how many edges.
func (t *Tracker) Watching() (persons, lists, edges int) {
	t.peopleHere.mu.Lock()
	defer t.peopleHere.mu.Unlock()
	return len(t.peopleHere.byID), len(t.peopleHere.lists) - len(t.peopleHere.free), t.peopleHere.edges
}

// RelationQueries returns how often the Directory was asked for relations of lists.
func (t *Tracker) RelationQueries() uint64 {
	t.peopleHere.relations.mu.Lock()
	defer t.peopleHere.relations.mu.Unlock()
	return t.peopleHere.relations.queries
}
