package presence

import "time"

// What staff can do: see track.Staff.Disconnect, track.Staff.DisconnectConnection and track.Staff.ResetPeak.
// A notice tells all nodes of an act, and each node remembers it.
const (
	ActDisconnect = "disconnect"            // all connections of a user ended
	ActCut        = "disconnect connection" // the connections of a user at one node ended, or one of them
	ActResetPeak  = "reset peak"            // the record of a topic was reset
)

// An Act is what a member of staff did.
type Act struct {
	At         time.Time     // by this node's clock
	By         UserID        // the member of staff
	Did        string        // one of the Act constants
	User       UserID        // the user whom it concerns; empty for ActResetPeak
	Connection Holder        // for ActCut
	Topic      Topic         // for ActResetPeak
	Bar        time.Duration // for ActDisconnect: how long the user may not come back
}
