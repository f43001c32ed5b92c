package core

import (
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// strangers counts guests' page views until a request comes from a signed-in user. A site
// that mounts presence before its sessions has guests alone, and nothing else shows that.
// Page views of crawlers count too. What is no page, such as the answer to a health check, does not.
type strangers struct {
	seen atomic.Int64 // page views of guests, up to maxStrangers
}

// maxStrangers is the number of guests' page views after which NoUser is reported, once.
const maxStrangers = 10

// see counts a page view of a guest, and reports [presence.NoUser] at the 10th.
func (s *strangers) see(t *track.Tracker) {
	if !t.MetUser() && s.seen.Load() < maxStrangers && s.seen.Add(1) == maxStrangers {
		t.Found(presence.NoUser)
	}
}
