package track

import (
	"encoding/json"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A sight is what the devices of one user say together. Who may see it is for its
// visibility to say, and for nothing else.
type sight struct {
	profile    *entry              // the newest device: it has the user's name, avatar, URL and group
	visibility presence.Visibility // the strictest of all devices (rule P4)
	since      time.Time           // when the user came, or when more viewers could begin to see the user
	kinds      kinds
}

// sightOf returns what a view of devices says of a user, and false for a user without a
// device. It allocates nothing.
//
// For a user without a device it reads the device behind, and forgets it: to look at nobody
// is to take as long as to look at a user who is hidden (rule P2).
func (v *View) sightOf(user presence.UserID) (s sight, here bool) {
	add := func(e *entry) bool {
		visibility := e.visibility()
		if chosen := v.chosen[e.ID]; chosen != nil {
			visibility = *chosen
		}
		s.add(e, visibility)
		return true
	}
	behind := v.roster.devicesOf(user, add)
	if s.profile == nil {
		if behind != nil {
			add(behind)
		}
		return sight{}, false
	}
	if s.visibility.Since.After(s.since) {
		s.since = s.visibility.Since
	}
	return s, true
}

// add takes a device and its visibility. Its parts do not depend on the order of the devices, so that all
// nodes see the same.
func (s *sight) add(e *entry, v presence.Visibility) {
	if v.Status == "" {
		v.Status = presence.Online
	}
	s.kinds |= kindOf(e.Data)
	if s.profile == nil {
		s.profile, s.visibility, s.since = e, v, e.Since
		return
	}
	if presence.NewestFirst(e.Member, s.profile.Member) < 0 {
		s.profile = e
	}
	if e.Since.Before(s.since) {
		s.since = e.Since
	}
	s.visibility = s.visibility.Merge(v)
}

// name returns the name to show. The ID of a device is not that of its user.
func (s *sight) name(user presence.UserID) string {
	if s.profile.Name != "" {
		return s.profile.Name
	}
	return string(user.Local())
}

// kinds is a set of kinds of devices, a bit each.
type kinds uint8

// kindNames are the kinds in the order of their names.
var kindNames = [...]string{presence.Desktop, presence.Mobile, presence.OtherDevice, presence.Tablet}

// kindLists has the names of each set, so that no answer allocates them.
var kindLists = func() (lists [1 << len(kindNames)][]string) {
	for set := range lists {
		for i, name := range kindNames {
			if set&(1<<i) != 0 {
				lists[set] = append(lists[set], name)
			}
		}
	}
	return lists
}()

func (k kinds) names() []string { return kindLists[k] }

// kindOf returns the kind of the device that a member's Data describes.
func kindOf(data json.RawMessage) kinds {
	const before = `{"kind":"` // as Device.data begins
	if len(data) > len(before) && string(data[:len(before)]) == before {
		for i, name := range kindNames {
			if rest := data[len(before):]; len(rest) > len(name) && string(rest[:len(name)]) == name && rest[len(name)] == '"' {
				return 1 << i
			}
		}
	}
	return kindOther // also a device of another version, or of which nothing is known
}

const kindOther kinds = 1 << 2

// appendPerson appends "bob":{…}, as the events of PeopleTopic have it.
func appendPerson(b []byte, user presence.UserID, s *sight) []byte {
	b = wire.AppendString(b, string(user.Local()))
	b = append(b, `:{"name":`...)
	b = wire.AppendString(b, s.name(user))
	b = append(b, `,"status":`...)
	b = wire.AppendString(b, string(s.visibility.Status.Shown()))
	if s.visibility.Text != "" {
		b = append(b, `,"text":`...)
		b = wire.AppendString(b, s.visibility.Text)
	}
	b = append(b, `,"since":`...)
	b = wire.AppendTime(b, s.since)
	for i, kind := range s.kinds.names() {
		b = append(b, [...]string{`,"on":["`, `","`}[min(i, 1)]...)
		b = append(b, kind...)
	}
	b = append(b, `"]`...)
	u := s.profile.User
	u.Data = nil // it describes the device
	return append(u.AppendProfile(b), '}')
}
