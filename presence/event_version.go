//go:build !presence_v2

package presence

// StreamVersion is the version of the JSON in Event.Data. Package handlers converts it for
// pages of the version before. Within a version fields are added, and never renamed or given
// another meaning (rule E3).
const StreamVersion = 1

// Keys of that version which differ from another one.
const (
	keyUsers = "users" // of a state
	keyJoins = "joins" // of a diff
)
