package track_test

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A field that a person shares with a profile is set, by whichever way the profile came.
func TestPersonHasProfile(t *testing.T) {
	from := reflect.ValueOf(presence.Profile{Name: "a", Avatar: "a", URL: "a", Group: "a"})
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		person := presence.Person{ID: "alice"}
		field := reflect.ValueOf(&person).Elem().FieldByName(name)
		if !field.IsValid() {
			continue // no field of a person
		}
		if from.Field(i).IsZero() {
			t.Fatalf("give the profile of this test the field %s", name)
		}
		if track.SetProfile(&person, from.Interface().(presence.Profile)); !reflect.DeepEqual(field.Interface(), from.Field(i).Interface()) {
			t.Errorf("%s: got %v, want %v: setProfile forgets it", name, field, from.Field(i))
		}
	}
}

// The source of an answer is the roster, the recent names for as long as they know the user, or
// the Directory. Each viewer is told of those alone whose last seen the viewer may know.
func TestPeopleInDetail(t *testing.T) {
	need.Slow(t, "days of a site")
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		tracker := start(t, memstore.New(), track.Config{Directory: d, Kinds: map[string]presence.Kind{"site": {Recent: 3}}})
		c := crowd{tracker, t, d}
		d.Befriend("friendly", "friend")
		d.Block("bob", "blocked", true)
		d.Choose("friendly", presence.Settings{Seen: presence.Contacts})
		come := func(ids ...string) {
			for _, id := range ids {
				u := presence.User{ID: presence.UserID(id), Avatar: "/" + id + ".png", URL: "/" + id}
				connect(t, tracker, track.ConnectOptions{Visitor: presence.Visitor{User: u}}).Close()
			}
			time.Sleep(30 * time.Second)
		}
		check := func(viewer, id string, want presence.PersonSource) presence.Person {
			t.Helper()
			people, err := c.People().FindInDetail(t.Context(), presence.UserID(viewer), presence.UserID(id))
			noError(t, err)
			p := people[0]
			if p.Source != want || (p.Avatar != "") != (want == presence.SourceRecent) || (p.Name == "") != (p.Avatar == "") {
				t.Errorf("%q about %q: got %+v, want the source %q", viewer, id, p, want)
			}
			if want == "" && fmt.Sprint(p) != fmt.Sprint(presence.Person{ID: presence.UserID(id)}) {
				t.Errorf("%q about %q: got %+v, want nothing", viewer, id, p)
			}
			return p
		}
		come("bob", "friendly")
		left := time.Now().Add(-30 * time.Second)
		for viewer, want := range map[string]presence.PersonSource{"alice": presence.SourceRecent, "blocked": "", "": ""} {
			got := check(viewer, "bob", want)
			if want != "" && (got.Name != "bob" || got.URL != "/bob" || got.LastSeen.Sub(left).Abs() > time.Second) {
				t.Errorf("got %+v, want bob, who left at %v", got, left)
			}
		}
		check("friend", "friendly", presence.SourceStored) // the names are for everybody, and never had the user
		check("alice", "friendly", "")
		check("alice", "nobody", "")
		check("alice", "", "")

		come("u", "v", "w") // the three who are remembered
		check("alice", "bob", presence.SourceStored)
		check("alice", "u", presence.SourceRecent)
		time.Sleep(backend.MaxWithin)
		check("alice", "u", presence.SourceStored)
		if people, err := c.People().Find(t.Context(), "alice", "u"); err != nil || people[0].Source != "" {
			t.Errorf("got %+v and error %v, want no source without detail", people, err)
		}
	})
}

// The names say at once that somebody has left, and the Directory follows within 15 s. Names are
// those of the tenant's own site. A site without names, or with figures alone, has none to tell.
func TestPeopleInDetailByTenantAndKind(t *testing.T) {
	for kind, source := range map[presence.Kind]presence.PersonSource{
		{Recent: 10}:                  presence.SourceRecent,
		{}:                            presence.SourceStored,
		{Recent: 10, CountOnly: true}: presence.SourceStored,
	} {
		synctest.Test(t, func(t *testing.T) {
			store, d := presencetest.NewFaults(memstore.New()), presencetest.NewMemoryDirectory()
			tracker := start(t, store, track.Config{Directory: d, Kinds: map[string]presence.Kind{"site": kind}})
			ids := []presence.UserID{"bob", presence.UserID("bob").In("acme"), presence.UserID("bob").In("globex"), "bob"}
			for _, id := range ids[:2] {
				v := presence.Visitor{User: presence.User{ID: id, Name: "Bob of " + id.Tenant()}, Tenant: id.Tenant()}
				connect(t, tracker, track.ConnectOptions{Visitor: v, Topics: []presence.Topic{presence.Site.In(id.Tenant())}}).Close()
			}
			time.Sleep(time.Minute)
			noError(t, d.Saw(t.Context(), map[presence.UserID]time.Time{"bob": time.Now().Add(-2 * time.Hour)})) // keeps the later one
			asked := store.Calls(presencetest.CallRecent)
			people, err := tracker.People().FindInDetail(t.Context(), "", ids...)
			noError(t, err)
			for i, want := range []presence.PersonSource{source, source, "", source} {
				name := ""
				if want == presence.SourceRecent {
					name = "Bob of " + ids[i].Tenant()
				}
				if p := people[i]; p.ID != ids[i] || p.Source != want || p.Name != name {
					t.Errorf("%+v: got %+v, want source %q and name %q", kind, p, want, name)
				}
			}
			asked = store.Calls(presencetest.CallRecent) - asked
			if want := map[bool]int{true: 3}[source == presence.SourceRecent]; asked != want {
				t.Errorf("%+v: got %d calls of the store, want %d: one for each tenant", kind, asked, want)
			}
		})
	}
}
