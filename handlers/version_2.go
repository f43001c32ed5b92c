//go:build presence_v2

package handlers

import (
	"bytes"

	"github.com/rollcall-go/rollcall/presence"
)

// Version 2 is made up: see presence/event_version_2.go. A version is made of these parts: the
// encoders of package presence write the new one, downgrade converts back for pages of the
// version before, and downgrade of older versions goes.

// downgrade converts the data of an event from a version to the one before. It may be called
// with locks held. It must not change e.Data, which all readers share.
func downgrade(from int, e presence.Event) []byte {
	if from != 2 {
		return e.Data
	}
	switch e.Type {
	case presence.EventState:
		return renamed(e.Data, `,"members":{`, `,"users":{`)
	case presence.EventDiff:
		return renamed(e.Data, `,"enters":{`, `,"joins":{`)
	}
	return e.Data
}

// renamed replaces the key of the object that comes first. Before it there are topics, cursors
// and numbers, in which no key can stand.
func renamed(data []byte, from, to string) []byte {
	return bytes.Replace(data, []byte(from), []byte(to), 1)
}
