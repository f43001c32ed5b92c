package backend

import (
	"encoding/json"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// DevicesTopic is the topic whose users are the devices of all users: "user\x1edevice". No request can name
// it, because ParseTopic refuses the @. It exists if the site has a Directory. Its entries reach a viewer
// only through the viewer's own view of a person (see sight in package track).
const DevicesTopic presence.Topic = "@people"

// MemberOf returns the id of a user's device in DevicesTopic.
func MemberOf(user presence.UserID, device presence.DeviceID) presence.UserID {
	return user + wire.DeviceSeparator + presence.UserID(device)
}

// OwnerOf returns the user and the device of a member of DevicesTopic.
func OwnerOf(member presence.UserID) (presence.UserID, presence.DeviceID) {
	user, device, _ := strings.Cut(string(member), wire.DeviceSeparator)
	return presence.UserID(user), presence.DeviceID(device)
}

// DataOf returns the device as the Data of its member, without the id.
func DataOf(d presence.Device) json.RawMessage {
	data := make([]byte, 0, 96)
	for _, field := range []struct{ key, value string }{
		{`"kind":`, d.Kind}, {`"label":`, d.Label}, {`"addr":`, d.Addr}, {`"agent":`, d.Agent},
	} {
		if field.value != "" {
			data = append(append(data, "{,"[min(len(data), 1)]), field.key...)
			data = wire.AppendString(data, field.value)
		}
	}
	if len(data) == 0 {
		data = append(data, '{')
	}
	return append(data, '}')
}

// DeviceOf returns the device of a member of DevicesTopic.
func DeviceOf(m presence.Member) presence.Device {
	var d presence.Device
	_ = json.Unmarshal(m.Data, &d) // of another version: a device without a kind
	_, d.ID = OwnerOf(m.ID)
	return d
}
