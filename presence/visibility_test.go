package presence_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// P3, P4, P5: who sees what, in one table. Unknown is the strictest.
func TestWhoSees(t *testing.T) {
	const stranger, contact, blocked = presence.Stranger, presence.Contact, presence.Blocked
	e, c, n := presence.Everyone, presence.Contacts, presence.Nobody
	for _, tt := range []struct {
		s            presence.Settings
		viewer       presence.Relation
		known        bool
		online, seen bool
	}{
		{presence.Settings{}, stranger, false, true, true},
		{presence.Settings{}, blocked, true, true, true}, // Except says that there is a block
		{presence.Settings{Except: true}, stranger, true, true, true},
		{presence.Settings{Except: true}, blocked, true, false, false},
		{presence.Settings{Except: true}, stranger, false, false, false},
		{presence.Settings{Online: c}, stranger, true, false, false},
		{presence.Settings{Online: c}, contact, true, true, true},
		{presence.Settings{Online: c}, contact, false, false, false},
		{presence.Settings{Online: c}, blocked, true, false, false},
		{presence.Settings{Online: n}, contact, true, false, false},
		{presence.Settings{Seen: n}, contact, true, true, false},
		{presence.Settings{Seen: c}, contact, true, true, true},
		{presence.Settings{Seen: c}, stranger, true, true, false},
		{presence.Settings{Online: c, Seen: e}, stranger, true, false, false}, // P5
		{presence.Settings{Online: n, Seen: e}, contact, true, false, false},
		{presence.Settings{Status: presence.Invisible, Online: e, Seen: e}, contact, true, false, true}, // looks like leaving
		{presence.Settings{Status: presence.Invisible, Online: e, Seen: c}, stranger, true, false, false},
		{presence.Settings{Status: presence.Invisible, Online: n, Seen: e}, contact, true, false, false},
		{presence.Settings{Online: "friends"}, contact, true, false, false},
		{presence.Settings{Seen: "friends"}, contact, true, true, false},
	} {
		v := tt.s.At(time.Now()).Visibility(time.Time{})
		online, seen := v.ShownTo(tt.viewer, tt.known), v.SeenBy(tt.viewer, tt.known)
		if online != tt.online || seen != tt.seen {
			t.Errorf("%+v for viewer %d, known %v: got online %v, last seen %v, want %v, %v", tt.s, tt.viewer, tt.known, online, seen, tt.online, tt.seen)
		}
	}
}

// A site's identify cannot set User.Visibility: such a user is invalid.
func TestVisibilityIsNotForSites(t *testing.T) {
	u := presence.User{ID: "alice", Visibility: &presence.Visibility{}}
	if err := u.Validate(); err == nil {
		t.Error("a user with a visibility of the site's own is valid")
	}
	if u.SameProfile(presence.User{ID: "alice"}) || !u.SameProfile(presence.User{ID: "alice", Visibility: &presence.Visibility{}}) {
		t.Error("a visibility is not compared by what it says")
	}
}
