package track_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// P1: one join and one leave, however many devices, nodes and sweeps.
func TestPeopleP1OneJoinOneLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, d := memstore.New(), presencetest.NewMemoryDirectory()
		a, b := startCrowd(t, store, d), startCrowd(t, store, d)
		here, there := a.watch("alice", "bob"), b.watch("carol", "bob")
		here.want("state ")
		there.want("state ")
		a.DeviceOn(user("bob"), device("1", presence.Desktop), everybody, time.Time{})
		a.settle()
		here.want("diff +bob -")
		there.want("diff +bob -")
		b.DeviceOn(user("bob"), device("2", presence.Desktop), everybody, time.Time{})
		a.settle()
		here.want() // another desktop is nothing that anybody sees
		a.DeviceOff("bob", "1")
		a.settle()
		b.settle()
		lines := append(here.read(), there.read()...)
		for _, line := range lines {
			if strings.Contains(line, "-bob") {
				t.Errorf("got %q, and bob has a device left", line)
			}
		}
		b.DeviceOff("bob", "2")
		b.settle()
		here.want("diff + -bob")
		there.want("diff + -bob")
		if here.cursor["people"] != there.cursor["people"] {
			t.Error("two nodes name the same sight by two cursors")
		}
	})
}

// P2, P3: whoever is hidden from a viewer leaves no byte, and wakes nobody.
func TestPeopleP2HiddenIsAbsent(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("friend", "dave")
		c.on(everybody, "bob")
		hiders := map[string]presence.Settings{"nobody": forNobody, "ghost": invisible, "friend": forFriends, "blocker": blocking}
		c.directory.Block("blocker", "alice", true)
		conn := connect(t, c.Tracker, peopleOptions("alice", "bob", "nobody", "ghost", "friend", "blocker"))
		before := data(conn)
		drain(conn)
		for name, s := range hiders {
			c.on(s, name)
			select {
			case <-conn.Ready():
				t.Errorf("%s comes, hidden, and the viewer is woken", name)
			default:
			}
			wantLines(t, name+" comes", data(conn))
			if got := data(connect(t, c.Tracker, peopleOptions("alice", "bob", "nobody", "ghost", "friend", "blocker"))); !slices.Equal(got, before) {
				t.Errorf("with %s there: got %q, want %q", name, got, before)
			}
			c.off(name)
			wantLines(t, name+" goes", data(conn))
		}
		c.on(forFriends, "friend")
		if got := diffed(t, connect(t, c.Tracker, peopleOptions("dave", "friend"))); got.Total != 1 {
			t.Errorf("a contact sees %d, want the friend", got.Total)
		}
	})
}

// P5: last seen is for those who may know it.
func TestPeopleP5LastSeen(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("bob", "friend")
		for _, test := range []struct {
			seen    presence.Audience
			alice   bool
			contact bool
		}{{presence.Everyone, true, true}, {presence.Contacts, false, true}, {presence.Nobody, false, false}} {
			c.on(presence.Settings{Seen: test.seen}, "bob")
			alice, contact := c.watch("alice", "bob"), c.watch("friend", "bob")
			alice.want("state bob")
			contact.want("state bob")
			c.off("bob")
			alice.want("diff + -bob")
			contact.want("diff + -bob")
			if got := alice.lastSeen["bob"] != ""; got != test.alice {
				t.Errorf("%s: a stranger gets last seen: %t, want %t", test.seen, got, test.alice)
			}
			if got := contact.lastSeen["bob"] != ""; got != test.contact {
				t.Errorf("%s: a contact gets last seen: %t, want %t", test.seen, got, test.contact)
			}
		}
	})
}

// P6: whoever loses sight gets a leave within a second, and whoever gains it a join with since =
// now. Only the leave of a user who turned invisible has last seen: that moment.
func TestPeopleP6SettingsChange(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("bob", "friend")
		c.on(everybody, "bob")
		alice, contact := c.watch("alice", "bob"), c.watch("friend", "bob")
		alice.want("state bob")
		contact.want("state bob")
		time.Sleep(time.Minute)
		check := func(what string, p *page, join bool) {
			t.Helper()
			if join {
				p.want("diff +bob -")
				if since := p.since("bob"); time.Since(since) > time.Second {
					t.Errorf("%s: got since %v ago, want now", what, time.Since(since))
				}
				return
			}
			p.want("diff + -bob")
			seen, err := time.Parse(time.RFC3339, p.lastSeen["bob"])
			if now := err == nil && time.Since(seen) < time.Second; now != (what == "invisible") {
				t.Errorf("%s: got a leave with last seen %q", what, p.lastSeen["bob"])
			}
		}
		c.choose("bob", invisible)
		check("invisible", alice, false)
		check("invisible", contact, false)
		time.Sleep(time.Minute)
		c.choose("bob", forFriends)
		check("contacts", contact, true)
		alice.want()
		time.Sleep(time.Minute)
		c.choose("bob", everybody)
		check("everybody", alice, true)
		contact.want("diff +bob -") // since has changed
		c.directory.Block("bob", "alice", true)
		c.HearRelations("bob")
		c.choose("bob", blocking)
		check("blocked", alice, false)
		c.directory.Block("bob", "alice", false)
		c.HearRelations("bob")
		alice.want("diff +bob -")
	})
}

// P6: the end of the last block is a join with since = now, in whichever order a node learns that
// the relations have changed and that the person has blocked nobody any more.
func TestPeopleP6LastBlockEnds(t *testing.T) {
	for name, order := range map[string][2]time.Duration{
		"the relations first": {0, 10 * time.Millisecond},
		"at once":             {0, 0},
		"the person first":    {time.Millisecond, 0}, // the writer has its window of 3 ms
	} {
		t.Run(name, func(t *testing.T) {
			withCrowd(t, func(t *testing.T, c crowd) {
				blocking := presence.Settings{Except: true}
				c.directory.Block("bob", "alice", true)
				c.on(blocking, "bob")
				page := c.watch("alice", "bob")
				page.want("state ")
				time.Sleep(time.Minute)
				c.directory.Block("bob", "alice", false)
				time.AfterFunc(order[0], func() { c.HearRelations("bob") })
				time.AfterFunc(order[1], func() { c.Choose("bob", "d", everybody, time.Time{}) })
				c.settle()
				page.want("diff +bob -")
				if since := page.since("bob"); time.Since(since) > time.Second {
					t.Errorf("got since %v ago, want now", time.Since(since))
				}
			})
		})
	}
}

// P6: a person who blocks somebody for the first time, or has contacts alone see who is
// online, is not seen to go and come by those who see the person before and after. Whoever
// is blocked loses sight, and so does everybody if the Directory does not answer.
func TestPeopleP6OthersSeeNothing(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		choose := func(s presence.Settings, pages map[*page][]string) {
			t.Helper()
			c.Choose("bob", "d", s, time.Now().UTC())
			got := make(map[*page][]string)
			for range 300 { // pages that read at once
				time.Sleep(time.Millisecond)
				synctest.Wait()
				for p := range pages {
					got[p] = append(got[p], p.read()...)
				}
			}
			for p, want := range pages {
				if !slices.Equal(got[p], want) {
					t.Errorf("got events %q, want %q", got[p], want)
				}
			}
		}
		join, leave := []string{"diff +bob -"}, []string{"diff + -bob"} // a join of a person who is there: since has changed

		c.directory.Befriend("bob", "alice")
		c.on(everybody, "bob")
		alice, eve := c.watch("alice", "bob"), c.watch("eve", "bob")
		alice.want("state bob")
		eve.want("state bob")
		choose(forFriends, map[*page][]string{alice: join, eve: leave})
		choose(everybody, map[*page][]string{alice: join, eve: join})
		c.directory.Block("bob", "eve", true)
		c.HearRelations("bob")
		c.settle()
		choose(blocking, map[*page][]string{alice: join, eve: leave})

		choose(everybody, map[*page][]string{alice: join, eve: join})
		carol := c.watch("carol", "bob")
		carol.want("state bob")
		c.HearRelations("bob") // as whenever somebody is blocked
		c.settle()
		c.directory.Fail(errors.New("down"))
		choose(blocking, map[*page][]string{carol: leave})
		choose(everybody, map[*page][]string{carol: join})
	})
}

// P8: a connection watches at most MaxWatched people, each once, and only valid ones. A
// guest watches nobody, and no topic is below people.
func TestPeopleP8Bounds(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		many := make([]presence.UserID, 501)
		for i := range many {
			many[i] = presence.UserID(fmt.Sprint("u", i))
		}
		options := func(change func(*track.ConnectOptions)) track.ConnectOptions {
			o := peopleOptions("alice")
			change(&o)
			return o
		}
		for what, test := range map[string]struct {
			o    track.ConnectOptions
			want error
		}{
			"500":     {options(func(o *track.ConnectOptions) { o.People = many[:500] }), nil},
			"twice":   {options(func(o *track.ConnectOptions) { o.People = append(many[:500:500], many[:500]...) }), nil},
			"501":     {options(func(o *track.ConnectOptions) { o.People = many }), presence.ErrTooManyPeople},
			"control": {options(func(o *track.ConnectOptions) { o.People = ids("bob\x1e1") }), presence.ErrInvalidUser},
			"guest":   {options(func(o *track.ConnectOptions) { o.Visitor = presence.Visitor{Guest: "g"} }), presence.ErrGuest},
			"below":   {options(func(o *track.ConnectOptions) { o.Topics = []presence.Topic{"people:bob"} }), presence.ErrInvalidTopic},
		} {
			conn, err := c.Connect(t.Context(), test.o)
			if !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", what, err, test.want)
			}
			if err == nil {
				for err, people := range map[error][]presence.UserID{presence.ErrTooManyPeople: many, presence.ErrInvalidUser: ids("")} {
					if got := conn.Watch(people); !errors.Is(got, err) {
						t.Errorf("%s: Watch: got %v, want %v", what, got, err)
					}
				}
				conn.Close()
			}
		}
		if persons, lists, edges := c.Watching(); persons+lists+edges != 0 {
			t.Errorf("got %d persons, %d lists and %d edges after the last list, want none", persons, lists, edges)
		}
	})
}

// P9: a loud person is told at once after 10 quiet seconds, else once in 10 s with the latest
// word. Sight is told at once all the same (P6).
func TestPeopleP9Loud(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.LoudOver(2)
		pages := []*page{c.watch("a", "star"), c.watch("b", "star"), c.watch("c", "star", "bob")}
		want := func(lines ...string) {
			t.Helper()
			for _, p := range pages {
				p.want(lines...)
			}
		}
		want("state ")
		c.on(everybody, "star")
		want("diff +star -")
		began := time.Now()
		for range 4 {
			c.off("star")
			c.on(everybody, "star")
		}
		want()
		c.on(everybody, "bob")
		pages[2].want("diff +bob -") // nobody else is loud
		c.off("star")
		time.Sleep(9*time.Second - time.Since(began))
		want()
		time.Sleep(1500 * time.Millisecond)
		want("diff + -star")
		time.Sleep(11 * time.Second)
		c.on(everybody, "star")
		want("diff +star -")
		c.choose("star", forNobody)
		want("diff + -star")
		time.Sleep(30 * time.Second)
		want()
	})
}

// P10: nothing that the watched person gets says that somebody watches.
func TestPeopleP10NobodyLearns(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		bob := connect(t, c.Tracker, track.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{presence.Site, presence.PeopleTopic}, People: ids("alice")})
		time.Sleep(time.Second)
		data(bob)
		alice := c.watch("alice", "bob")
		time.Sleep(time.Second)
		alice.conn.Watch(ids("bob", "carol"))
		alice.conn.Close()
		time.Sleep(time.Second)
		wantLines(t, "bob reads", data(bob))
	})
}

// P5: what a device did while its user was hidden is in no last seen later.
func TestPeopleP5NothingOfTheHiddenTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		c := startCrowd(t, store, presencetest.NewMemoryDirectory())
		page := c.watch("alice", "bob")
		page.want("state ")
		old := track.DeviceOp(user("bob"), device("old", presence.Desktop), everybody, time.Time{})
		old.For = 30 * time.Second
		store.Apply(t.Context(), []backend.Batch{{Topic: backend.DevicesTopic, Ops: []backend.Op{old}}})
		c.DeviceOn(user("bob"), device("d", presence.Desktop), everybody, time.Time{})
		c.settle()
		page.want("diff +bob -")
		hide := func(s presence.Settings) {
			c.Choose("bob", "old", s, time.Time{})
			c.choose("bob", s)
		}
		time.Sleep(5 * time.Second)
		hidden := time.Now()
		hide(invisible)
		page.want("diff + -bob")
		time.Sleep(5 * time.Second)
		c.on(invisible, "bob") // a proof of life
		c.off("bob")
		hide(everybody)
		page.want("diff +bob -")
		time.Sleep(time.Minute)
		page.want("diff + -bob")
		seen, err := time.Parse(time.RFC3339, page.lastSeen["bob"])
		if err != nil || seen.Sub(hidden) > time.Second {
			t.Errorf("got last seen %q, %v after he turned invisible", page.lastSeen["bob"], seen.Sub(hidden))
		}
	})
}

// P1, P6: who goes on seeing a person sees no leave when the person shows fewer viewers than
// before, also where the Directory takes its time. Without an answer the person is not shown
// a second later (P4).
func TestPeopleP6WhoSeesOnSeesNoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		slow := presencetest.NewFaultyDirectory(d)
		c := crowd{start(t, memstore.New(), track.Config{Directory: slow}), t, d}
		time.Sleep(10 * time.Millisecond)
		d.Befriend("bob", "friend")
		came := time.Now().UTC()
		c.DeviceOn(user("bob"), device("d", presence.Desktop), everybody, came)
		c.settle()
		seen := map[string]*[]string{"alice": follow(c, "alice", "bob"), "friend": follow(c, "friend", "bob")}
		slow.Break(presencetest.DirectoryFault{Delay: 100 * time.Millisecond})
		want := func(what string, s presence.Settings, alice, friend string) {
			t.Helper()
			c.HearRelations("bob")
			c.Choose("bob", "d", s, came)
			time.Sleep(time.Second)
			synctest.Wait()
			for viewer, want := range map[string]string{"alice": alice, "friend": friend} {
				if got := strings.Join(*seen[viewer], "; "); got != want {
					t.Errorf("%s: %s got %q, want %q", what, viewer, got, want)
				}
				*seen[viewer] = nil
			}
		}
		want("contacts", forFriends, "leave", "")
		want("everybody", everybody, "join", "")
		want("a text for contacts", presence.Settings{Online: presence.Contacts, Text: "for friends"}, "leave", "join for friends")
		want("everybody again", everybody, "join", "join")
		d.Block("bob", "eve", true)
		want("somebody else is blocked", blocking, "", "")
		want("nobody is blocked", everybody, "", "")
		d.Block("bob", "alice", true)
		want("the viewer is blocked", blocking, "leave", "")
		d.Block("bob", "alice", false)
		want("nobody is blocked", everybody, "join", "")
		slow.Break(presencetest.DirectoryFault{Hang: true})
		time.Sleep(6 * time.Minute) // nothing is remembered
		want("no answer", forFriends, "leave", "leave")
	})
}
