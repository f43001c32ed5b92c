package presence

import "time"

// A Session is a device from which a user is online.
type Session struct {
	Device
	Since       time.Time // when it came online, by the store's clock
	Connections int       // open streams, on all nodes; 0: only a page view or the grace holds the user online
}
