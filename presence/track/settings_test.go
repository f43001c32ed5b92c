package track_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A town is two trackers over one store, with one directory.
type town struct {
	t         *testing.T
	store     backend.Store
	directory *presencetest.MemoryDirectory
	a, b      *track.Tracker
}

func newTown(t *testing.T) *town { return newTownOn(t, memstore.New()) }

func newTownOn(t *testing.T, store backend.Store) *town {
	d := &town{t: t, store: store, directory: presencetest.NewMemoryDirectory()}
	d.a, d.b = d.node("a"), d.node("b")
	return d
}

func (d *town) node(name string) *track.Tracker {
	return start(d.t, d.store, track.Config{Node: name, Directory: d.directory})
}

func (d *town) choose(at *track.Tracker, user presence.UserID, s presence.Settings) {
	d.t.Helper()
	noError(d.t, at.People().ChangeSettings(d.t.Context(), user, to(s)))
}

// to returns a change of settings to s, for ChangeSettings.
func to(s presence.Settings) func(*presence.Settings) error {
	return func(now *presence.Settings) error {
		*now = s
		return nil
	}
}

// on returns a user on a device.
func on(user string, device presence.DeviceID) presence.Visitor {
	v := visitor(user)
	v.Device = presence.Device{ID: device, Kind: presence.Desktop, Label: "Firefox on Linux"}
	return v
}

// online returns who is in the site's roster, as a tracker knows it.
func online(t *testing.T, at *track.Tracker) []presence.UserID {
	t.Helper()
	time.Sleep(time.Second) // the time that P6 allows
	view, err := at.View(t.Context(), presence.Site)
	noError(t, err)
	var ids []presence.UserID
	for _, m := range view.Newest(100) {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

func wantOnline(t *testing.T, d *town, want ...presence.UserID) {
	t.Helper()
	for name, at := range map[string]*track.Tracker{"a": d.a, "b": d.b} {
		if got := online(t, at); !slices.Equal(got, want) {
			t.Errorf("node %s: got %v online, want %v", name, got, want)
		}
	}
}

// P2, P3: only whom everybody may see is in a roster whose readers share bytes.
func TestRostersShowWhomEverybodyMaySee(t *testing.T) {
	for _, tt := range []struct {
		settings presence.Settings
		shown    bool
	}{
		{presence.Settings{}, true},
		{presence.Settings{Online: presence.Everyone, Seen: presence.Nobody}, true},
		{presence.Settings{Status: presence.Busy, Seen: presence.Contacts}, true},
		{presence.Settings{Online: presence.Contacts}, false},
		{presence.Settings{Online: presence.Nobody, Status: presence.Busy}, false},
		{presence.Settings{Status: presence.Invisible}, false},
	} {
		for _, when := range []string{"before", "after"} {
			bubble(t, fmt.Sprintf("%+v %s", tt.settings, when), func(t *testing.T) {
				d := newTown(t)
				if when == "before" {
					d.choose(d.b, "alice", tt.settings)
				}
				connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
				d.b.Seen(presence.Site, user("alice"), on("alice", "two").Device)
				if when == "after" {
					wantOnline(t, d, "alice")
					d.choose(d.b, "alice", tt.settings)
				}
				if tt.shown {
					wantOnline(t, d, "alice")
				} else {
					wantOnline(t, d)
				}
				if got := d.a.InRosters("alice"); got != tt.shown {
					t.Errorf("got InRosters %v, want %v", got, tt.shown)
				}
			})
		}
	}
}

// P6: a change is seen everywhere within a second. Who loses sight gets a leave without a
// last seen, and so does who reads a roster when its user has no last seen for all.
func TestSettingsAreSeenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		w := openPage(t, d.b, track.ConnectOptions{})
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		time.Sleep(time.Second)
		w.read()
		for range 3 {
			d.choose(d.b, "alice", presence.Settings{Online: presence.Contacts})
			time.Sleep(time.Second)
			w.want("diff + -alice")
			d.choose(d.a, "alice", presence.Settings{Status: presence.Busy})
			time.Sleep(time.Second)
			w.want("diff +alice -")
			d.choose(d.b, "alice", presence.Settings{Status: presence.Busy, Seen: presence.Nobody})
			time.Sleep(time.Second)
			w.want() // nothing that anybody sees has changed
		}
	})
}

// P4: nobody is shown whose settings are not known, and who is shown stays.
func TestUnknownSettingsHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		wantOnline(t, d, "alice")
		d.directory.Fail(errors.New("out"))
		connect(t, d.a, track.ConnectOptions{Visitor: on("bob", "one")})
		d.b.Seen(presence.Site, user("carol"), presence.Device{})
		wantOnline(t, d, "alice")
		if err := d.a.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{Online: presence.Nobody})); !errors.Is(err, presence.ErrDirectoryOut) {
			t.Errorf("got %v, want ErrDirectoryOut", err)
		}
		wantOnline(t, d, "alice")
		d.directory.Fail(nil)
		time.Sleep(5 * time.Second)
		wantOnline(t, d, "alice", "bob", "carol")
	})
}

// P7: settings outlive everything but the Directory: sign-outs, restarts, and the loss of the
// store with all nodes.
func TestSettingsOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		d.choose(d.a, "alice", presence.Settings{Online: presence.Contacts, Status: presence.Busy, Text: "in a call"})
		fresh := &town{t: t, store: memstore.New(), directory: d.directory}
		fresh.a, fresh.b = fresh.node("c"), fresh.node("d")
		connect(t, fresh.a, track.ConnectOptions{Visitor: on("alice", "one")})
		connect(t, fresh.b, track.ConnectOptions{Visitor: on("bob", "one")})
		wantOnline(t, fresh, "bob")
		if got, err := fresh.b.People().Settings(t.Context(), "alice"); err != nil || got.Text != "in a call" {
			t.Errorf("got %+v, %v, want the text", got, err)
		}
		choose(t, fresh.b, "alice", presence.Away)
		if got, _ := fresh.b.People().Settings(t.Context(), "alice"); got.Online != presence.Contacts || got.Status != presence.Away || got.Text != "" {
			t.Errorf("got %+v, want another status and the same audience", got)
		}
		wantOnline(t, fresh, "bob")
	})
}

// Bad settings change nothing.
func TestBadSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		long := make([]byte, presence.MaxTextLen+1)
		for i := range long {
			long[i] = 'x'
		}
		for _, s := range []presence.Settings{
			{Status: "idle"}, {Status: "online-"}, {Online: "friends"}, {Seen: "EVERYONE"}, {Text: string(long)}, {Text: "a\nb"}, {Text: "\xff"},
		} {
			if err := d.a.People().ChangeSettings(t.Context(), "alice", to(s)); !errors.Is(err, presence.ErrInvalidSettings) {
				t.Errorf("%+v: got %v, want ErrInvalidSettings", s, err)
			}
		}
		if err := d.a.People().ChangeSettings(t.Context(), "a\x1eb", to(presence.Settings{})); !errors.Is(err, presence.ErrInvalidUser) {
			t.Errorf("got %v, want ErrInvalidUser", err)
		}
		if got, _ := d.a.People().Settings(t.Context(), "alice"); got != (presence.Settings{}) {
			t.Errorf("got %+v, want nothing changed", got)
		}
		plain := start(t, memstore.New(), track.Config{})
		if err := plain.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{})); !errors.Is(err, presence.ErrNoDirectory) {
			t.Errorf("got %v, want ErrNoDirectory", err)
		}
	})
}

// A browser that remembers "invisible" hides its user where the Directory knows nothing, as
// after it was lost. What the Directory knows wins.
func TestVeiledWhereTheDirectoryKnowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		for _, id := range []string{"alice", "bob"} {
			v := on(id, "one")
			v.User.Veiled = true
			if id == "bob" {
				d.choose(d.b, "bob", presence.Settings{Status: presence.Invisible, Until: time.Now().Add(time.Second)})
				time.Sleep(2 * time.Second)
			}
			connect(t, d.a, track.ConnectOptions{Visitor: v})
		}
		wantOnline(t, d, "bob")
	})
}

// A node that missed the notice of a change, because it was away for long, asks again about
// the users whom it holds: a user who is to be hidden must not stay in sight.
func TestSettingsOfANodeThatWasAway(t *testing.T) {
	for _, missed := range []time.Duration{2 * time.Second, 20 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			d := &town{t: t, store: memstore.New(), directory: presencetest.NewMemoryDirectory()}
			deaf := &deafStore{Store: d.store.(*memstore.Store)}
			d.a = d.node("a")
			d.b = start(t, deaf, track.Config{Node: "b", Directory: d.directory})
			d.b.Seen(presence.Site, user("alice"), presence.Device{})
			d.b.Seen(presence.Site, user("bob"), presence.Device{})
			connect(t, d.b, track.ConnectOptions{Visitor: on("bob", "one")})
			wantOnline(t, d, "alice", "bob")
			deaf.setDeaf(true)
			for _, id := range []presence.UserID{"alice", "bob", "carol"} { // by the site's own program
				d.directory.Choose(id, presence.Settings{Online: presence.Contacts})
			}
			wantOnline(t, d, "alice", "bob")
			deaf.fn(backend.Notice{Missed: missed})
			wantOnline(t, d)
		})
	}
}
