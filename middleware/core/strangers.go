package core

import (
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// strangers counts guests' page views until a request comes from a signed-in user. A site
// that mounts presence before its sessions has guests alone, and nothing else shows that.
// Page views of crawlers count too.
type strangers struct {
	seen atomic.Int64 // page views of guests; negative: a user came, or NoUser was reported
}

// maxStrangers is the number of guests' page views after which NoUser is reported, once.
const maxStrangers = 50

func (s *strangers) stillAlone() bool { return s.seen.Load() >= 0 }

// meetUser notes that a request was a user's. It writes at the first one only.
func (s *strangers) meetUser() {
	if s.stillAlone() {
		s.seen.Store(-1 << 62)
	}
}

// see counts a page view of a guest, and reports [presence.NoUser] at the 50th.
func (s *strangers) see(t *track.Tracker) {
	if s.seen.Add(1) == maxStrangers {
		s.seen.Store(-1 << 62)
		t.Found(presence.NoUser)
	}
}
