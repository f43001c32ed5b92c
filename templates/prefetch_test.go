package templates_test

import (
	"encoding/hex"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

// A uuid is an id as the usual packages have it: an array of bytes with a text of its own.
type uuid [16]byte

func (u uuid) String() string { return hex.EncodeToString(u[:]) }

// An id may be of any type. One that is an array, and has a text, is one id.
func TestPrefetchSeenOfArrays(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		id := uuid{1, 2, 3}
		s.see(presence.Site, user(id.String()))
		s.leave(presence.UserID(id.String()))
		for name, ids := range map[string]any{"an id": id, "a pointer": &id, "ids": []uuid{id}} {
			widgets, err := templates.New(nil, s.tracker, templates.Config{})
			noError(t, err)
			page := widgets.Page(requestOf(guest))
			page.PrefetchSeen(ids)
			before := s.store.Calls(presencetest.CallSightings)
			has(t, string(page.LastSeen(id)), "just now")
			if got := s.store.Calls(presencetest.CallSightings) - before; got != 0 {
				t.Errorf("%s: got %d calls of the store for a user who was prefetched, want none", name, got)
			}
		}
	})
}
