package presence

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A DeviceID is the public id of a user's device: of the site's session, or of the browser.
// It is never a token that opens the session (rule P13). 1 to MaxDeviceIDLen bytes of
// A-Z a-z 0-9 _ - . and the colon; empty: the device is not known.
type DeviceID string

// Bounds of a Device, in bytes.
const (
	MaxDeviceIDLen    = 64
	MaxDeviceLabelLen = 64
)

// The kinds of devices.
const (
	Desktop     = "desktop"
	Mobile      = "mobile"
	Tablet      = "tablet"
	OtherDevice = "other"
)

// A Device is one of the places from which a user is online: user, device, connection.
type Device struct {
	ID     DeviceID `json:"-"`
	Kind   string   `json:"kind,omitempty"`   // Desktop, Mobile, Tablet or OtherDevice
	Label  string   `json:"label,omitempty"`  // for its user, such as "Firefox on Linux"
	Client string   `json:"client,omitempty"` // the version of the site's own program there; empty: none
	Addr   string   `json:"addr,omitempty"`   // a keyed hash of its address, never the address; empty: not kept
	Agent  string   `json:"agent,omitempty"`  // a keyed hash of its user agent; empty: not kept
}

// Validate returns nil, or an error that is [ErrInvalidDevice] and names the field.
func (d Device) Validate() error {
	bad := func(what string) error { return fmt.Errorf("%w: %s", ErrInvalidDevice, what) }
	switch d.Kind {
	case "", Desktop, Mobile, Tablet, OtherDevice:
	default:
		return bad("the kind is none of desktop, mobile, tablet and other")
	}
	if !d.ID.valid() {
		return bad("the id must be 0-64 bytes of A-Z a-z 0-9 _ - . and the colon")
	}
	for _, s := range []string{d.Label, d.Client, d.Addr, d.Agent} {
		if len(s) > MaxDeviceLabelLen || !printable(s) || !utf8.ValidString(s) {
			return bad("a field has more than 64 bytes, or control characters")
		}
	}
	return nil
}

func (d DeviceID) valid() bool {
	if len(d) > MaxDeviceIDLen {
		return false
	}
	for i := range len(d) {
		if !topicByte(d[i]) {
			return false
		}
	}
	return true
}

func (d Device) clone() Device {
	d.ID, d.Kind, d.Label = DeviceID(strings.Clone(string(d.ID))), strings.Clone(d.Kind), strings.Clone(d.Label)
	d.Client, d.Addr, d.Agent = strings.Clone(d.Client), strings.Clone(d.Addr), strings.Clone(d.Agent)
	return d
}

// devicesTopic is the topic whose users are the devices of all users: "user\x1edevice". No
// request can name it, because ParseTopic refuses the @. It exists where the site has a
// Directory. What it says of a user leaves this package by [sight] alone.
const devicesTopic Topic = "@people"

// Reserved reports whether a topic is one of this package's own, which no page may name.
func (t Topic) Reserved() bool { return strings.HasPrefix(string(t.Local()), "@") }

// deviceSeparator is in no UserID: control characters are refused.
const deviceSeparator = "\x1e"

// memberOf returns the id that a user's device has in devicesTopic.
func memberOf(user UserID, device DeviceID) UserID {
	return user + deviceSeparator + UserID(device)
}

// ownerOf returns the user and the device of a member of devicesTopic.
func ownerOf(member UserID) (UserID, DeviceID) {
	user, device, _ := strings.Cut(string(member), deviceSeparator)
	return UserID(user), DeviceID(device)
}

// data returns the device as the Data of its member, without the id.
func (d Device) data() json.RawMessage {
	data := make([]byte, 0, 96)
	for _, field := range []struct{ key, value string }{
		{`"kind":`, d.Kind}, {`"label":`, d.Label}, {`"client":`, d.Client}, {`"addr":`, d.Addr}, {`"agent":`, d.Agent},
	} {
		if field.value != "" {
			data = append(append(data, "{,"[min(len(data), 1)]), field.key...)
			data = appendString(data, field.value)
		}
	}
	if len(data) == 0 {
		data = append(data, '{')
	}
	return append(data, '}')
}

// deviceOf returns the device of a member of devicesTopic.
func deviceOf(m Member) Device {
	var d Device
	_ = json.Unmarshal(m.Data, &d) // of another version: a device without a kind
	_, d.ID = ownerOf(m.ID)
	return d
}
