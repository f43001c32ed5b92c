package track

import (
	"maps"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// userRecords has what this node knows of users in all topics: what each chose, when each signed out, and when the
// session of each device ended. The users who were used longest ago are dropped first. That is safe: the choice is asked
// for again.
//
// No other mutex is taken while its mutex is held, so a topic may ask while it changes its roster.
type userRecords struct {
	mu      recordsMutex
	choices *generations.Map[presence.UserID, choice]
	outs    *generations.Map[presence.UserID, time.Time] // by user, and of a device by its member of backend.DevicesTopic
	hid     time.Time                                    // when this node last learned that a user hides
}

func newUserRecords(forgotten func(int)) *userRecords {
	return &userRecords{
		choices: generations.New[presence.UserID, choice](2*maxUsersKnown, forgotten),
		outs:    generations.New[presence.UserID, time.Time](maxUsersKnown, forgotten),
	}
}

// choice returns what a user chose, and whether this node knows.
func (k *userRecords) choice(user presence.UserID) (choice, bool) {
	c, known := k.last(user)
	if c.unsure {
		return choice{}, false
	}
	return c, known
}

// last returns what a user chose, as far as this node ever knew. It may be unsure.
func (k *userRecords) last(user presence.UserID) (choice, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.choices.Use(user)
}

// learn remembers what a user chose.
func (k *userRecords) learn(user presence.UserID, now choice) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, _ := k.choices.Get(user); now.hides() && !was.hides() {
		k.hid = time.Now()
	}
	k.choices.Set(user, now)
}

func (k *userRecords) lastHid() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hid
}

// all returns the choices that are known.
func (k *userRecords) all() map[presence.UserID]choice {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Collect(k.choices.All())
}

// doubt forgets what a user chose. The choice of a user who hid from somebody stays, as unsure, until the Directory answers
// about that user.
func (k *userRecords) doubt(user presence.UserID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, _ := k.choices.Get(user)
	if c.unsure = narrow(c.settings.Settings); c.unsure {
		k.choices.Replace(user, c)
	} else {
		k.choices.Delete(user)
	}
}

// end notes that a user signed out at a moment, or that the session of a member of backend.DevicesTopic ended.
func (k *userRecords) end(member presence.UserID, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, _ := k.outs.Get(member); at.After(was) {
		k.outs.Set(member, at)
	}
}

// endedAt returns the latest moment of end, or zero if this node knows of none.
func (k *userRecords) endedAt(member presence.UserID) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, _ := k.outs.Get(member)
	return at
}

// outAt returns when a member of a topic last signed out: the user, or of a device the user or the device.
func (k *userRecords) outAt(topic presence.Topic, member presence.UserID) time.Time {
	if topic != backend.DevicesTopic {
		return k.endedAt(member)
	}
	return later(k.endedAt(member), k.endedAt(ownerIn(topic, member)))
}

// forget forgets an erased user.
func (k *userRecords) forget(e backend.Erasure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.choices.Delete(e.User)
	for member := range k.outs.All() {
		if e.Names(member) {
			k.outs.Delete(member)
		}
	}
}
