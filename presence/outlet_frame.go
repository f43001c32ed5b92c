package presence

import "sync/atomic"

// A frame is one event of a topic's log, as bytes for pages and as entries for
// Go programs.
type frame struct {
	Event
	net  net   // of a diff
	view *View // of a state
}

// A Framer appends an event to b as a transport sends it.
type Framer func(b []byte, e Event) []byte

// forms is how many transports there are that have bytes of their own.
const forms = 2

// A shared is one event that many readers get beside the log: a state, a
// heartbeat, the diff of those who come back. What a transport makes of it is
// made once. It never changes, and may be read concurrently.
type shared struct {
	frame
	made [forms]atomic.Pointer[[]byte]
}

// newShared returns the event of a frame. Its ID is that of a connection of the
// topic alone.
func newShared(f frame) *shared {
	f.ID = f.Cursor
	return &shared{frame: f}
}

// form returns the event as a transport sends it.
func (s *shared) form(form int, put Framer) []byte {
	if made := s.made[form].Load(); made != nil {
		return *made
	}
	b := put(make([]byte, 0, len(s.Data)+framing), s.Event)
	s.made[form].Store(&b) // whoever was as fast made the same
	return b
}

// framing is more bytes than a transport needs for an event beside its data.
const framing = 96
