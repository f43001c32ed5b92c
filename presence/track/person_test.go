package track_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A watchedDirectory counts what it is asked.
type watchedDirectory struct {
	*presencetest.MemoryDirectory
	mu    sync.Mutex
	calls []string
}

func (d *watchedDirectory) note(call string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, fmt.Sprint(call, n))
}

func (d *watchedDirectory) Relations(ctx context.Context, pairs ...presence.Pair) ([]presence.Relation, error) {
	d.note("relations", len(pairs))
	time.Sleep(10 * time.Millisecond)
	return d.MemoryDirectory.Relations(ctx, pairs...)
}

func (d *watchedDirectory) LastSeen(ctx context.Context, users ...presence.UserID) ([]presence.Seen, error) {
	d.note("seen", len(users))
	time.Sleep(10 * time.Millisecond)
	return d.MemoryDirectory.LastSeen(ctx, users...)
}

// asked returns what was asked since the call before, queries at one time in any order.
func (d *watchedDirectory) asked() (relations, seen string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, call := range d.calls {
		if call[0] == 'r' {
			relations = call
		} else {
			seen = call
		}
	}
	n, d.calls = len(d.calls), nil
	return relations, seen, n
}

func one(t *testing.T, c crowd, viewer, id string) presence.Person {
	t.Helper()
	people, err := c.People().Find(t.Context(), presence.UserID(viewer), presence.UserID(id))
	if err != nil || len(people) != 1 {
		t.Fatalf("got %v, %v, want one person", people, err)
	}
	return people[0]
}

// People answers in the order of the ids, an id as often as it is named, and with what each
// viewer may know.
func TestPeople(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		bob := presence.User{ID: "bob", Name: "Bob", Avatar: "/b.png", URL: "/bob"}
		busy := presence.Settings{Status: presence.Busy, Text: "in a call"}
		c.DeviceOn(bob, device("2", presence.Tablet), busy, time.Time{})
		c.DeviceOn(bob, device("1", presence.Mobile), busy, time.Time{})
		c.DeviceOn(bob, device("3", presence.Tablet), busy, time.Time{})
		c.DeviceOn(presence.User{ID: "bob2"}, device("", ""), everybody, time.Time{})
		c.settle()
		people, err := c.People().Find(t.Context(), "alice", "bob2", "eve", "bob", "bob2", "bo", "")
		noError(t, err)
		got := ""
		for _, p := range people {
			got += fmt.Sprintln(p.ID, p.Name, p.Online, p.Status, p.Text, p.On, p.Avatar, p.URL, p.Since.IsZero())
		}
		want := "bob2 bob2 true online  [other]   false\neve  false   []   true\nbob Bob true busy in a call [mobile tablet] /b.png /bob false\n" +
			"bob2 bob2 true online  [other]   false\nbo  false   []   true\n  false   []   true\n"
		if got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
		if _, err := c.People().Find(t.Context(), "alice", make([]presence.UserID, presence.MaxPeople+1)...); !errors.Is(err, presence.ErrTooManyPeople) {
			t.Errorf("got %v, want %v", err, presence.ErrTooManyPeople)
		}
		if people, err := c.People().Find(t.Context(), "alice"); err != nil || len(people) != 0 {
			t.Errorf("got %v, %v, want nobody", people, err)
		}
	})
}

// P2: both queries go out for whoever is absent and for whoever is hidden, side by side. What they
// look like is the same.
func TestPeopleP2SameWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &watchedDirectory{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := start(t, memstore.New(), track.Config{Directory: d})
		time.Sleep(10 * time.Millisecond)
		c := crowd{tracker, t, d.MemoryDirectory}
		d.Block("blocker", "alice", true)
		d.Befriend("friend", "carol")
		c.on(everybody, "bob")
		for name, s := range map[string]presence.Settings{"hidden": forNobody, "ghost": invisible, "friend": forFriends, "blocker": blocking} {
			d.Choose(presence.UserID(name), s)
			d.Saw(t.Context(), map[presence.UserID]time.Time{presence.UserID(name): time.Now()})
			c.on(s, name)
		}
		c.on(forNobody, "changing") // the Directory does not say so yet, or no more
		d.Saw(t.Context(), map[presence.UserID]time.Time{"changing": time.Now()})
		for _, name := range []string{"nobody", "hidden", "ghost", "friend", "blocker", "changing"} {
			began := time.Now()
			got := one(t, c, "alice", name)
			if name == "ghost" && !got.LastSeen.IsZero() {
				got.LastSeen = time.Time{} // an invisible user looks as if they had left
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", presence.Person{ID: presence.UserID(name)}) {
				t.Errorf("got %+v, want nothing of %s", got, name)
			}
			if took := time.Since(began); took != 10*time.Millisecond {
				t.Errorf("%s: it took %v, want the 10 ms of two queries at one time", name, took)
			}
			if relations, seen, n := d.asked(); relations != "relations1" || seen != "seen1" || n != 2 {
				t.Errorf("%s: got %s and %s in %d queries, want both of one user", name, relations, seen, n)
			}
		}
		if got := one(t, c, "carol", "friend"); !got.Online {
			t.Errorf("got %+v, want that a contact sees the friend", got)
		}
		if got := one(t, c, "", "blocker"); got.Online {
			t.Errorf("got %+v, want that a guest sees only whom everybody sees", got)
		}
	})
}

// P2: the time of an answer does not tell whether a user blocks anybody. Both queries go out for a
// user who is online, once in five minutes. While the Directory is out, its latest answer counts.
func TestPeopleP2NobodyTellsBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &watchedDirectory{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := start(t, memstore.New(), track.Config{Directory: d})
		time.Sleep(10 * time.Millisecond)
		c := crowd{tracker, t, d.MemoryDirectory}
		d.Block("blocker", "mallory", true)
		d.Befriend("friend", "alice")
		for name, s := range map[string]presence.Settings{"bob": everybody, "blocker": blocking, "friend": forFriends} {
			d.Choose(presence.UserID(name), s)
			c.on(s, name)
		}
		look := func(when string, queries int) {
			t.Helper()
			for _, name := range []string{"bob", "blocker", "friend"} {
				d.asked()
				began := time.Now()
				if got := one(t, c, "alice", name); !got.Online {
					t.Errorf("%s: got %+v, want %s online", when, got, name)
				}
				if took := time.Since(began); queries >= 0 && took != time.Duration(queries)*5*time.Millisecond {
					t.Errorf("%s: %s: it took %v", when, name, took)
				}
				if _, _, n := d.asked(); queries >= 0 && n != queries {
					t.Errorf("%s: %s: got %d queries, want %d", when, name, n, queries)
				}
			}
		}
		look("first", 2)
		look("again", 0)
		time.Sleep(5*time.Minute + time.Second)
		look("5 minutes later", 2)
		for _, name := range []presence.UserID{"bob", "blocker", "friend"} {
			c.HearRelations(name)
		}
		c.settle()
		look("after a change", 2)
		time.Sleep(5*time.Minute + time.Second)
		d.Fail(errors.New("down"))
		look("the Directory is out", -1)
	})
}

// A list of people that opens takes as long whether one of them blocks anybody or not.
func TestPeopleP2ListsTellNoBlocks(t *testing.T) {
	for name, s := range map[string]presence.Settings{"nobody": everybody, "somebody": blocking} {
		withCrowd(t, func(t *testing.T, c crowd) {
			c.on(s, "bob")
			was := c.RelationQueries()
			c.watch("alice", "bob").want("state bob")
			if got := c.RelationQueries() - was; got != 1 {
				t.Errorf("bob blocks %s: got %d queries, want 1", name, got)
			}
		})
	}
}

// P4, P5: last seen of one who is absent, by the settings and the relation as they are now.
func TestPeopleP5LastSeenAsked(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		d, seen := c.directory, time.Now().Add(-time.Hour).UTC()
		d.Befriend("bob", "friend")
		d.Block("bob", "blocked", true)
		noError(t, d.Saw(t.Context(), map[presence.UserID]time.Time{"bob": seen}))
		for _, test := range []struct {
			settings                         presence.Settings
			stranger, friend, blocked, guest bool
		}{
			{presence.Settings{}, true, true, false, false}, // somebody is blocked: see Except
			{presence.Settings{Seen: presence.Contacts}, false, true, false, false},
			{presence.Settings{Seen: presence.Nobody}, false, false, false, false},
			{presence.Settings{Online: presence.Contacts}, false, true, false, false},
			{presence.Settings{Online: presence.Nobody}, false, false, false, false},
			{presence.Settings{Status: presence.Invisible}, true, true, false, false},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Contacts}, false, true, false, false},
			{presence.Settings{Status: presence.Invisible, Online: presence.Nobody}, false, false, false, false},
			{presence.Settings{Status: presence.Invisible, Until: time.Now().Add(-time.Second)}, true, true, false, false},
		} {
			d.Choose("bob", test.settings)
			for viewer, want := range map[string]bool{"stranger": test.stranger, "friend": test.friend, "blocked": test.blocked, "": test.guest} {
				if got := one(t, c, viewer, "bob"); got.LastSeen.Equal(seen) != want || want == got.LastSeen.IsZero() {
					t.Errorf("%+v: %q gets last seen %v, want it: %t", test.settings, viewer, got.LastSeen, want)
				}
			}
		}
		d.Block("bob", "blocked", false)
		d.Choose("bob", presence.Settings{})
		if got := one(t, c, "", "bob"); !got.LastSeen.Equal(seen) {
			t.Errorf("a guest gets last seen %v, want what everybody may know", got.LastSeen)
		}
		d.Fail(errors.New("down"))
		if got := one(t, c, "friend", "bob"); !got.LastSeen.IsZero() {
			t.Errorf("got last seen %v, and the Directory is out", got.LastSeen)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.People().Find(ctx, "friend", "bob"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}
