package presence

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
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

// A Device is a browser or program in which a user is signed in. A user has devices, and a device has
// connections.
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
	if !d.ID.Valid() {
		return bad("the id must be 0-64 bytes of A-Z a-z 0-9 _ - . and the colon")
	}
	for _, s := range []string{d.Label, d.Addr, d.Agent} {
		if len(s) > MaxDeviceLabelLen || !printable(s) || !utf8.ValidString(s) {
			return bad("a field has more than 64 bytes, or control characters")
		}
	}
	return nil
}

// Valid reports whether d follows the rules at DeviceID. An empty id does.
func (d DeviceID) Valid() bool {
	if len(d) > MaxDeviceIDLen {
		return false
	}
	for i := range len(d) {
		if !wire.TopicByte(d[i]) {
			return false
		}
	}
	return true
}

// Clone returns a copy that shares no memory with d.
func (d Device) Clone() Device {
	d.ID, d.Kind, d.Label = DeviceID(strings.Clone(string(d.ID))), strings.Clone(d.Kind), strings.Clone(d.Label)
	d.Addr, d.Agent = strings.Clone(d.Addr), strings.Clone(d.Agent)
	return d
}
