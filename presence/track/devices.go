package track

import (
	"iter"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxDevices is how many devices a user has at most, because each device that a client invents costs work on
// every node. Further devices count together as one unknown device.
const maxDevices = 32

// A deviceRoster has the devices of users as this node knows them: the roster of backend.DevicesTopic.
// Without a Directory it is empty.
type deviceRoster struct {
	directory *directoryCalls
	topics    *topics
}

// view returns the devices; nil before they are loaded.
func (d *deviceRoster) view() *View { return d.topics.viewHere(backend.DevicesTopic) }

// of yields a user's devices: members of backend.DevicesTopic.
func (d *deviceRoster) of(user presence.UserID) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		if !d.directory.on() {
			return
		}
		if view := d.view(); view != nil {
			view.roster.devicesOf(user, yield)
		}
	}
}

// has reports whether this node knows of any device of a user.
func (d *deviceRoster) has(user presence.UserID) bool {
	for range d.of(user) {
		return true
	}
	return false
}

// shownSince returns the later of two moments: since, and the latest Visibility.Since of the user's devices
// here. A node that has the settings from the Directory, which does not know the moment, then shows viewers
// nothing from an earlier time.
func (d *deviceRoster) shownSince(user presence.UserID, since time.Time) time.Time {
	for m := range d.of(user) {
		if v := m.visibility(); v.Since.After(since) {
			since = v.Since
		}
	}
	return since
}

// deviceOf returns the device under which this node holds a user.
func (p *users) deviceOf(d *deviceRoster, user presence.UserID, on presence.Device) presence.Device {
	if !d.directory.on() || user == "" {
		return presence.Device{}
	}
	if on.Validate() != nil {
		on = presence.Device{}
	}
	var some [8]presence.DeviceID
	held, known := some[:0], false
	for m := range d.of(user) {
		held = append(held, presence.DeviceID(m.ID[len(user)+1:]))
		known = known || held[len(held)-1] == on.ID
	}
	on = on.Clone()
	if !known && on.ID != "" && !p.admitDevice(user, on.ID, held) {
		on = presence.Device{}
	}
	return on
}

// newcomerFor is the time within which a new device is in the deviceRoster.
const newcomerFor = 2 * time.Second

// admitDevice reports whether a user may have one more device, which the deviceRoster does not have yet.
// Devices that came here a moment ago count, because many may come at once.
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
