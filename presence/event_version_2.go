//go:build presence_v2

package presence

// Version 2 is made up, for tests of deploys: a page of version 1 could not read it. It also
// shows how a version is made. The other half is in handlers/version_2.go.

// StreamVersion is the version of the JSON in Event.Data.
const StreamVersion = 2

// Keys of that version which differ from version 1.
const (
	keyUsers = "members" // of a state: users
	keyJoins = "enters"  // of a diff: joins
)
