package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// devicePurpose is for [track.Tracker.Sign].
const devicePurpose = "device"

// deviceOf returns the device from which a user sent a request. session is the id of the
// site's session, or empty. browser is the id that the browser has or gets with the response.
// Empty: it keeps no cookies, and the user agent stands for it.
//
// A Device holds no address, no user agent and no token (rule P13).
func (m *engine) deviceOf(r *http.Request, user presence.UserID, session presence.DeviceID, browser string) presence.Device {
	id := session
	if id == "" {
		id = m.deviceID(r, user, browser)
	}
	device := presence.Device{ID: id}
	device.Kind, device.Label = kindAndLabel(r)
	if len(m.secret) > 0 {
		address, _ := m.address(r)
		device.Addr, device.Agent = m.hash("address", address), m.hash("agent", userAgent(r))
	}
	return device
}

// deviceID returns the id of a device whose session the site does not name. The fleet's
// secret makes it of the browser and of the user. So the users of one browser have ids that
// nobody can connect, and a browser that makes up its cookie makes up devices of its own
// user only. It is empty while the secret is not known.
func (m *engine) deviceID(r *http.Request, user presence.UserID, browser string) presence.DeviceID {
	what := "agent\x00" + userAgent(r)
	if len(browser) >= signedLen {
		what = browser[:signedLen] // the other half changes once its guest counts
	}
	mac, known := m.tracker.Sign(devicePurpose, what+"\x00"+string(user))
	if !known {
		return ""
	}
	return presence.DeviceID(base64.RawURLEncoding.EncodeToString(mac[:12]))
}

// hash returns 64 bits of a keyed hash of a text that is not kept itself. It returns "" for an empty text.
func (m *engine) hash(what, text string) string {
	if text == "" {
		return ""
	}
	keyed := hmac.New(sha256.New, m.secret)
	keyed.Write([]byte(what + "\x00" + text))
	return "h:" + base64.RawURLEncoding.EncodeToString(keyed.Sum(nil)[:8])
}

// FindDevice finds the device of the request's visitor, for [presence.VisitorFromContext].
func (w *requestWithVisitor) FindDevice() presence.Device {
	visitor := &w.Visitor
	return w.engine.deviceOf(&w.request, visitor.User.ID.In(visitor.Tenant), visitor.Device.ID, w.browser)
}

// sessionOf returns the public id of the site's session. It returns "" if there is no session, or if its id
// is not valid.
func (rec *Recorder[C]) sessionOf(c C) (id presence.DeviceID) {
	defer rec.engine.faults.Guard("presence: Session of the middleware panicked; the browser's id names the device")
	id = presence.DeviceID(rec.session(c))
	if err := (presence.Device{ID: id}).Validate(); err != nil {
		// The line does not show the id, which may be a token by mistake.
		rec.engine.faults.Error("presence: Session of the middleware returned an id that is not valid; the browser's id names the device", "error", err)
		return ""
	}
	return id
}
