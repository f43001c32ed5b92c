package track_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// These tests let answers about contacts and blocks overtake one another. In the end each page
// shows what the Directory has.

// watchLate opens a page at B for which the Directory answers late. Meanwhile the site changes
// something, and B's later questions are answered quickly.
func (s *slowTown) watchLate(o track.ConnectOptions, late presencetest.DirectoryCall, change func()) *page {
	s.t.Helper()
	s.late(s.b, 400*time.Millisecond, late)
	time.AfterFunc(50*time.Millisecond, func() {
		s.reads[s.b].Heal()
		change()
	})
	return openPage(s.t, s.b, o)
}

// wantPeople reads after a moment, and fails unless the page shows these people.
func (p *page) wantPeople(want ...string) {
	p.t.Helper()
	time.Sleep(time.Second)
	p.read()
	if got := slices.Sorted(maps.Keys(p.roster[string(presence.PeopleTopic)])); !slices.Equal(got, want) {
		p.t.Errorf("got %v, want %v", got, want)
	}
}

// The Directory says late what bob was to zoe before she changed it.
func TestOlderRelationUndoesNewerOne(t *testing.T) {
	for name, test := range map[string]struct {
		before, change func(*presencetest.MemoryDirectory)
		sees           []string
	}{
		"a contact no more": {func(d *presencetest.MemoryDirectory) { d.Befriend("zoe", "bob") }, func(d *presencetest.MemoryDirectory) { d.Unfriend("zoe", "bob") }, nil},
		"a contact now":     {func(*presencetest.MemoryDirectory) {}, func(d *presencetest.MemoryDirectory) { d.Befriend("zoe", "bob") }, []string{"zoe"}},
		"blocked now":       {func(d *presencetest.MemoryDirectory) { d.Befriend("zoe", "bob") }, func(d *presencetest.MemoryDirectory) { d.Block("zoe", "bob", true) }, nil},
		"blocked no more": {func(d *presencetest.MemoryDirectory) { d.Befriend("zoe", "bob"); d.Block("zoe", "bob", true) },
			func(d *presencetest.MemoryDirectory) { d.Block("zoe", "bob", false) }, []string{"zoe"}},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSlowTown(t)
			noError(t, s.a.People().ChangeSettings(t.Context(), "zoe", to(presence.Settings{Online: presence.Contacts})))
			test.before(s.directory)
			connect(t, s.a, track.ConnectOptions{Visitor: on("zoe", "one")})
			time.Sleep(time.Second)
			page := s.watchLate(peopleOptions("bob", "zoe"), presencetest.CallRelations, func() {
				test.change(s.directory)
				noError(t, s.a.People().RelationsChanged(t.Context(), "zoe"))
			})
			page.wantPeople(test.sees...)
			time.Sleep(20 * time.Minute)
			page.wantPeople(test.sees...)
		})
	}
}

// The Directory says late whom bob had on his list before he changed it.
func TestOlderContactsUndoNewerOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowTown(t)
		for _, user := range []string{"zoe", "max", "eve"} {
			connect(t, s.a, track.ConnectOptions{Visitor: on(user, "one")})
		}
		s.directory.Befriend("bob", "zoe", "eve")
		time.Sleep(time.Second)
		options := peopleOptions("bob")
		options.Contacts = true
		page := s.watchLate(options, presencetest.CallContacts, func() {
			s.directory.Unfriend("bob", "zoe")
			s.directory.Befriend("bob", "max")
			noError(t, s.a.People().RelationsChanged(t.Context(), "bob"))
		})
		page.wantPeople("eve", "max")

		s.reads[s.b].Break(presencetest.DirectoryFault{Err: errors.New("out")})
		openPage(t, s.b, options).wantPeople("eve", "max") // as read last
	})
}
