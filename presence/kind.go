package presence

import "time"

// A Kind is the settings of all topics of one kind: see track.Config.Kinds. With the zero value
// a topic has the times of Config, and only who is online is kept.
type Kind struct {
	TTL       time.Duration // instead of Config.TTL. Zero: that one
	Grace     time.Duration // instead of Config.Grace. Zero: that one; negative: no grace
	MaxRoster int           // instead of Config.MaxRoster. Zero: that one; negative: no limit

	// CountOnly keeps names from visitors: every reader of the topic gets figures alone. Go
	// programs still get names, by track.Tracker.Changes, track.Tracker.Deliver and
	// track.Staff.Inspect, and so do webhooks and the page for staff.
	CountOnly bool

	// Recent is how many users the store remembers by name: the latest active ones, also
	// after they left. See track.Tracker.Recent. A user takes about 300 bytes.
	// Default: 0; at most 1,000,000.
	Recent int
	// ForgetSignedOut removes users from the recent ones when they sign out. Without it they
	// stay there, as those do who close their pages.
	ForgetSignedOut bool

	// Active adds to each user of the roster the minute of the user's latest page view: see
	// [Member]. A user who views pages then causes a diff once a minute.
	Active bool

	// Peak remembers the most users who were ever online at one time, and when.
	Peak bool
	// PeakGuests counts guests as well as users for the peak. It needs Peak.
	PeakGuests bool

	// Bots counts the crawlers that identify themselves, by name.
	Bots bool
}

// Keep says what a store keeps of a topic beyond who is online (rule 9). It comes
// with each backend.Batch, so a store needs no configuration. With the zero value the store keeps
// only who is online.
type Keep struct {
	Names           int  // how many users are remembered by name, the latest active ones
	ForgetSignedOut bool // a sign-out removes the user from them
	Active          bool // keep Member.Active, and announce it
	Peak            bool // keep the most users online at one time
	PeakGuests      bool // count guests with them
}
