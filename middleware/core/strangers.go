package core

import (
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
)

// strangers counts the page views of guests until the first user comes. A site that mounts
// presence before its sessions has guests alone, and nothing else shows that.
type strangers struct {
	seen atomic.Int64 // page views of guests; negative: a user has come, or it was told
}

// toldAfter is how many page views without a user are reported.
const toldAfter = 50

func (s *strangers) stillAlone() bool { return s.seen.Load() >= 0 }

// meetUser notes that a request was a user's. It writes at the first one only.
func (s *strangers) meetUser() {
	if s.stillAlone() {
		s.seen.Store(-1 << 62)
	}
}

// see counts a page view of a guest, and reports the one that makes the number full.
func (s *strangers) see(t *presence.Tracker) {
	if s.seen.Add(1) == toldAfter {
		s.seen.Store(-1 << 62)
		t.Found(presence.NoUser)
	}
}
