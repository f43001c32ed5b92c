package presence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A UserID names a signed-in user: 1 to 128 bytes of UTF-8 without control
// characters. It is compared byte by byte and never interpreted.
type UserID string

// Scan takes an id from a column of a database, as sql.Scanner says: a text, or an integer,
// whose decimal digits are the id.
func (id *UserID) Scan(column any) error {
	switch v := column.(type) {
	case string:
		*id = UserID(v)
	case []byte:
		*id = UserID(v)
	case int64:
		*id = UserID(strconv.FormatInt(v, 10))
	default:
		return fmt.Errorf("presence: a user's id cannot be a %T", column)
	}
	return nil
}

// Limits of what a site may say of a user.
const (
	MaxUserIDLen  = 128     // bytes of a UserID
	MaxProfileLen = 4 << 10 // bytes of a User's Name, Avatar, URL and Data together
	MaxGroupLen   = 32      // bytes of a User's Group
)

// A User is what the site's identify function returns about a signed-in user. Others see no other fields.
// Events, pages and exports take the fields of a [Profile] from this file.
type User struct {
	ID     UserID
	Name   string          // shown to people; empty: the ID. Like Avatar and URL it has no control characters
	Avatar string          // URL of a picture; empty: initials are shown
	URL    string          // the user's own page; empty: no link
	Data   json.RawMessage // any JSON value of the site's own; empty: none
	Status Status          // empty: as it was, or online
	Group  string          // such as "staff": 1-32 of a-z 0-9 -; empty: none

	// Visibility is set by a Tracker, only for devices in the roster of backend.DevicesTopic. nil: as it was.
	// The value that it points to never changes. A store keeps it like the Status, and does not interpret it.
	Visibility *Visibility

	// Rev is the revision of the user's choice from which Status and Visibility come. A Tracker sets
	// it. A topic keeps these two by the greatest Rev (rule 3 of backend.Store). 0: the user chose nothing.
	Rev int64

	// Hidden keeps the user out of presence altogether: nothing is recorded,
	// as for a member of staff who reads along. It is never stored.
	Hidden bool

	// Veiled is true if the user's browser remembers that the user last chose [Invisible]. The user is then
	// invisible unless the fleet knows another choice. It is never stored.
	Veiled bool
}

// Clone returns a copy that shares no memory with u. Strings that identify returns are often parts of a
// request's header; keeping one would keep the whole header in memory.
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
	case u.Visibility != nil:
		return fmt.Errorf("%w: the visibility is not for a site to set: see Settings", ErrInvalidUser)
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
		if s[i] < ' ' || s[i] > '~' { // rare in ids; this check is on the way of every page
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
		u.Status == v.Status && u.Visibility.Equal(v.Visibility) && u.Group == v.Group && bytes.Equal(u.Data, v.Data)
}

// looksLike reports whether u and v look the same to other users. [Idle] looks like [Away], and "online-"
// like "online".
func (u User) looksLike(v User) bool {
	u.Status, v.Status = u.Status.Shown(), v.Status.Shown()
	return u.SameProfile(v)
}

// A Profile has the fields of a [User] beside the ID and the status, with their names in the JSON of events.
// Code that encodes a user embeds a Profile or converts to one.
type Profile struct {
	Name   string          `json:"name,omitempty"`
	Avatar string          `json:"avatar,omitempty"`
	URL    string          `json:"url,omitempty"`
	Group  string          `json:"group,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// Profile returns the user's profile.
func (u User) Profile() Profile { return Profile{u.Name, u.Avatar, u.URL, u.Group, u.Data} }

// User returns a user with a profile.
func (p Profile) User(id UserID) User {
	return User{ID: id, Name: p.Name, Avatar: p.Avatar, URL: p.URL, Group: p.Group, Data: p.Data}
}

// AppendProfile appends the profile as JSON, to follow other fields: each field that is not empty, with a
// comma before it. It leaves out the name, because events always have one: see [User.DisplayName].
func (u User) AppendProfile(b []byte) []byte {
	if u.Group != "" {
		b = append(b, `,"group":"`...) // a group needs no escaping
		b = append(append(b, u.Group...), '"')
	}
	if u.Avatar != "" {
		b = append(b, `,"avatar":`...)
		b = wire.AppendString(b, u.Avatar)
	}
	if u.URL != "" {
		b = append(b, `,"url":`...)
		b = wire.AppendString(b, u.URL)
	}
	if len(u.Data) > 0 {
		b = append(b, `,"data":`...)
		b = wire.AppendRaw(b, u.Data)
	}
	return b
}
