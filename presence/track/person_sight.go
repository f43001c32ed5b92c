package track

import (
	"encoding/json"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A sight combines the devices of one user. Only its visibility decides who may see it.
type sight struct {
	profile    *entry              // the newest device, which has the user's name, avatar, URL and group
	visibility presence.Visibility // the strictest of all devices (rule P4)
	since      time.Time           // when the user came, or when more viewers could begin to see the user
	kinds      kinds
}

// sightOf returns the sight of a user in a view of devices, and false for a user without a device. It
// allocates nothing.
//
// For a user without a device it reads the next device and ignores it: a look at an absent user must take as
// long as one at a hidden user (rule P2).
func (v *View) sightOf(user presence.UserID) (s sight, here bool) {
	add := func(e *entry) bool {
		s.add(e, e.visibility())
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

// add adds a device and its visibility. The result does not depend on the order of the devices, so all nodes
// get the same.
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

// name returns the name to show. The ID of a device is not the ID of its user.
func (s *sight) name(user presence.UserID) string {
	return s.profile.Profile().User(user).DisplayName()
}

// kinds is a set of device kinds, one bit for each.
type kinds uint8

// kindNames are the kinds in the order of their names.
var kindNames = [...]string{presence.Desktop, presence.Mobile, presence.OtherDevice, presence.Tablet}

// kindLists has the names of each set, so that answers need not allocate them.
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
	const before = `{"kind":"` // the start of a device's Data
	if len(data) > len(before) && string(data[:len(before)]) == before {
		for i, name := range kindNames {
			if rest := data[len(before):]; len(rest) > len(name) && string(rest[:len(name)]) == name && rest[len(name)] == '"' {
				return 1 << i
			}
		}
	}
	return kindOther // an unknown device, or one of another version
}

const kindOther kinds = 1 << 2

// appendPerson appends "bob":{…}, in the form of the events of PeopleTopic.
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
	u.Data = nil // Data describes the device, and not the user
	return append(u.AppendProfile(b), '}')
}
