package presence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A UserID names a signed-in user: 1 to 128 bytes of UTF-8 without control
// characters. It is compared byte by byte and never interpreted.
type UserID string

// Limits of what a site may say of a user.
const (
	MaxUserIDLen  = 128     // bytes of a UserID
	MaxProfileLen = 4 << 10 // bytes of a User's other fields together
	MaxGroupLen   = 32      // bytes of a User's Group
)

// Status is what a user wants others to see.
type Status string

// The statuses. The zero value of Status means "as it was", or Online for a
// user who comes new.
const (
	Online    Status = "online"
	Away      Status = "away"
	Busy      Status = "busy"
	Invisible Status = "invisible" // present, but in no roster, count or diff

	// Idle is Online of a user at none of whose pages anybody is. No user
	// chooses it, and others see Away: see track.Page.Idle.
	Idle Status = "idle"
)

// Unseen reports whether a store keeps no last seen of a user with this status (rule 21 of
// backend.Store). Such a status ends with a "-", as "online-" and "invisible-" do. A Tracker with a
// [Directory] writes them; [ParseStatus] refuses them, so no user chooses one.
func (s Status) Unseen() bool { return strings.HasSuffix(string(s), wire.UnseenMark) }

// Base returns the status without the "-" of [Status.Unseen].
func (s Status) Base() Status { return Status(strings.TrimSuffix(string(s), wire.UnseenMark)) }

// Shown returns the status as others see it: without the "-" of [Status.Unseen], and Away
// for [Idle].
func (s Status) Shown() Status {
	if s = s.Base(); s == Idle {
		return Away
	}
	return s
}

// ParseStatus returns s as a Status, or [ErrInvalidStatus].
func ParseStatus(s string) (Status, error) {
	switch st := Status(s); st {
	case Online, Away, Busy, Invisible:
		return st, nil
	}
	return "", fmt.Errorf("%w: it must be online, away, busy or invisible", ErrInvalidStatus)
}

// A User is what the site's identify function says of a signed-in user: the
// only fields that others ever see.
type User struct {
	ID     UserID
	Name   string          // shown to people; empty: the ID. Like Avatar and URL it has no control characters
	Avatar string          // URL of a picture; empty: initials are shown
	URL    string          // the user's own page; empty: no link
	Data   json.RawMessage // any JSON value of the site's own; empty: none
	Status Status          // empty: as it was, or online
	Group  string          // such as "staff": 1-32 of a-z 0-9 -; empty: none

	// Hidden keeps the user out of presence altogether: nothing is recorded,
	// as for a member of staff who reads along. It is never stored.
	Hidden bool

	// Veiled says that the user's browser remembers [Invisible] as the user's last
	// choice: the user is invisible unless another choice is known to the fleet.
	// It is never stored.
	Veiled bool
}

// Clone returns a copy that shares no memory with u. What identify returns is often cut
// out of a request's header, and a memory that keeps it would keep all of the header.
func (u User) Clone() User {
	u.ID = UserID(strings.Clone(string(u.ID)))
	u.Name, u.Avatar, u.URL = strings.Clone(u.Name), strings.Clone(u.Avatar), strings.Clone(u.URL)
	u.Data = bytes.Clone(u.Data)
	u.Status = Status(strings.Clone(string(u.Status)))
	u.Group = strings.Clone(u.Group)
	return u
}

// Validate returns nil, or an error that is [ErrInvalidUser] and names the
// field that is wrong.
func (u User) Validate() error {
	switch {
	case u.ID == "":
		return fmt.Errorf("%w: the id is empty", ErrInvalidUser)
	case len(u.ID) > MaxUserIDLen:
		return fmt.Errorf("%w: the id has %d bytes, and %d are allowed", ErrInvalidUser, len(u.ID), MaxUserIDLen)
	case !printable(string(u.ID)):
		return fmt.Errorf("%w: the id is not UTF-8 without control characters", ErrInvalidUser)
	case !printable(u.Name):
		return fmt.Errorf("%w: the name is not UTF-8 without control characters", ErrInvalidUser)
	case !printable(u.Avatar):
		return fmt.Errorf("%w: the avatar is not UTF-8 without control characters", ErrInvalidUser)
	case !printable(u.URL):
		return fmt.Errorf("%w: the url is not UTF-8 without control characters", ErrInvalidUser)
	case len(u.Name)+len(u.Avatar)+len(u.URL)+len(u.Data) > MaxProfileLen:
		return fmt.Errorf("%w: the profile has more than %d bytes", ErrInvalidUser, MaxProfileLen)
	case len(u.Data) > 0 && !json.Valid(u.Data):
		return fmt.Errorf("%w: the data is not JSON", ErrInvalidUser)
	case u.Group != "" && !ValidGroup(u.Group):
		return fmt.Errorf("%w: the group must be 1-%d bytes of a-z 0-9 -", ErrInvalidUser, MaxGroupLen)
	}
	if u.Status != "" {
		if _, err := ParseStatus(string(u.Status)); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidUser, err)
		}
	}
	return nil
}

// ValidGroup reports whether s can be a [User].Group: 1-32 bytes of a-z 0-9 and -.
func ValidGroup(s string) bool {
	return s != "" && len(s) <= MaxGroupLen && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' { // rare among ids, which stand on the way of every page
			return utf8.ValidString(s[i:]) && !strings.ContainsFunc(s[i:], unicode.IsControl)
		}
	}
	return true
}

// DisplayName returns the name to show: Name, or the ID, without its tenant, where it is
// empty.
func (u User) DisplayName() string {
	if u.Name != "" {
		return u.Name
	}
	return string(u.ID.Local())
}

// SameProfile reports whether u and v look the same to others.
func (u User) SameProfile(v User) bool {
	return u.ID == v.ID && u.Name == v.Name && u.Avatar == v.Avatar && u.URL == v.URL &&
		u.Status == v.Status && u.Group == v.Group && bytes.Equal(u.Data, v.Data)
}

// looksLike reports whether u and v are told to others in the same words: [Idle] and
// [Away] are, and so are "online" and "online-".
func (u User) looksLike(v User) bool {
	u.Status, v.Status = u.Status.Shown(), v.Status.Shown()
	return u.SameProfile(v)
}

// StatusOnly reports whether a backend.OpUpdate with u changes the status alone: all
// other fields of the profile are empty.
func (u User) StatusOnly() bool {
	return u.Name == "" && u.Avatar == "" && u.URL == "" && u.Group == "" && len(u.Data) == 0
}

// A Member is a user in a topic's roster.
type Member struct {
	User
	Since time.Time // when the user joined, by the store's clock

	// Active is when the user last viewed a page, or joined, in whole minutes by the
	// store's clock. It is zero unless the topic's [Kind] asks for it.
	Active time.Time

	// Idle says that nobody is at any page of the user in the topic (rule 24 of backend.Store). A
	// store sets it beside the Status that the user chose. A track.Tracker sets it only for a user
	// who is [Online], and whose Status it then shows as [Idle].
	Idle bool
}

// Same reports whether m and o are the same to a store, but for Since: a change of anything
// else is an update in a diff.
func (m Member) Same(o Member) bool {
	return m.SameProfile(o.User) && m.Idle == o.Idle && m.Active.Equal(o.Active)
}

// LooksLike reports whether m and o are told to others in the same words, but for Since.
func (m Member) LooksLike(o Member) bool {
	return m.Active.Equal(o.Active) && m.User.looksLike(o.User)
}

// NewestFirst compares members in the order of every roster: by Since, the
// newest first, and equal ones by ID.
func NewestFirst(a, b Member) int {
	if c := b.Since.Compare(a.Since); c != 0 {
		return c
	}
	return strings.Compare(string(a.ID), string(b.ID))
}

// MarshalJSON returns the member as events have it:
// {"name":…,"status":…,"since":…}, then avatar, url and data unless they are empty.
func (m Member) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON returns.
func (m Member) AppendJSON(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, m.DisplayName())
	b = append(b, `,"status":`...)
	b = wire.AppendString(b, string(m.Status.Shown()))
	b = append(b, `,"since":`...)
	b = wire.AppendTime(b, m.Since)
	if m.Group != "" {
		b = append(b, `,"group":"`...) // a group needs no escaping
		b = append(append(b, m.Group...), '"')
	}
	if !m.Active.IsZero() {
		b = append(b, `,"active":`...)
		b = wire.AppendTime(b, m.Active)
	}
	if m.Avatar != "" {
		b = append(b, `,"avatar":`...)
		b = wire.AppendString(b, m.Avatar)
	}
	if m.URL != "" {
		b = append(b, `,"url":`...)
		b = wire.AppendString(b, m.URL)
	}
	if len(m.Data) > 0 {
		b = append(b, `,"data":`...)
		b = wire.AppendRaw(b, m.Data)
	}
	return append(b, '}')
}
