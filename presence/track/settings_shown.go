package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// chosenSettings are a user's settings as this node knows them.
type chosenSettings struct {
	presence.Settings           // as the Directory has them
	since             time.Time // the last moment at which more viewers began to see the user; zero: unknown
}

// choiceOf returns the choice of a user whose settings are known.
func choiceOf(s presence.Settings, since, at time.Time) choice {
	c := choice{at: at, settings: chosenSettings{s.Clone(), since}}
	c.Status = rosterStatus(s.At(time.Now()))
	return c
}

// rosterStatus returns the status of a user in every roster except backend.DevicesTopic. All readers of a
// roster share its bytes. So a user whom not everybody may see is invisible in it, and a user whose last seen
// not everybody may know has none. The status Invisible alone does not hide last seen, because it looks like
// leaving. s must come from Settings.At.
func rosterStatus(s presence.Settings) presence.Status {
	switch {
	case s.Online != presence.Everyone:
		return presence.Invisible + wire.UnseenMark
	case s.Seen != presence.Everyone:
		return s.Status + wire.UnseenMark
	}
	return s.Status
}

// A resolved is a user whose choice is known.
type resolved struct {
	presence.User
	settings chosenSettings
	devices  *deviceRoster
}

// hides reports whether no roster but that of devices shows the user.
func (r resolved) hides() bool {
	return r.in(presence.Site, presence.Device{}).Status.Base() == presence.Invisible
}

// in returns the user in the form for a topic. on is the device, which counts in backend.DevicesTopic.
func (r resolved) in(topic presence.Topic, on presence.Device) presence.User {
	u := r.User
	u.Rev = r.settings.Rev
	if topic != backend.DevicesTopic && u.Status == "" && r.settings.Settings == (presence.Settings{}) {
		return u // the user chose nothing, and is as before
	}
	s := r.settings.At(time.Now())
	if u.Status != "" { // the site's identify has set it
		s.Status = u.Status
	}
	if topic != backend.DevicesTopic {
		u.Status = rosterStatus(s)
		return u
	}
	shown := s.Visibility(r.devices.shownSince(r.ID, r.settings.since))
	u.ID, u.Data, u.Status, u.Visibility = backend.MemberOf(u.ID, on.ID), backend.DataOf(on), "", &shown
	return u
}
