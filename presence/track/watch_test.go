package track_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

var (
	everybody  = presence.Settings{}
	forFriends = presence.Settings{Online: presence.Contacts}
	forNobody  = presence.Settings{Online: presence.Nobody}
	invisible  = presence.Settings{Status: presence.Invisible}
	blocking   = presence.Settings{Except: true}
)

// The events of people, word by word.
func TestPeopleEvents(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		bob := presence.User{ID: "bob", Name: "Bob", Group: "staff", Avatar: "/b.png", URL: "/bob"}
		c.DeviceOn(bob, device("1", presence.Mobile), presence.Settings{Status: presence.Busy, Text: "in a <call>"}, time.Time{})
		c.DeviceOn(bob, device("2", presence.Desktop), presence.Settings{Status: presence.Busy, Text: "in a <call>"}, time.Time{})
		c.settle()
		conn := connect(t, c.Tracker, peopleOptions("alice", "bob", "carol", "bob"))
		at := conn.Events(nil)
		since := strings.Split(strings.Split(string(at[0].Data), `"since":"`)[1], `"`)[0]
		want := `{"topic":"people","cursor":"` + string(at[0].Cursor) + `","total":1,"users":{"bob":{"name":"Bob","status":"busy","text":"in a \u003ccall\u003e","since":"` +
			since + `","on":["desktop","mobile"],"group":"staff","avatar":"/b.png","url":"/bob"}},"truncated":false}`
		if got := string(at[0].Data); got != want || len(at) != 1 || at[0].Type != presence.EventState {
			t.Errorf("got %d events, %s %s, want a state %s", len(at), at[0].Type, got, want)
		}
		wantLines(t, "heartbeat", []string{string(conn.Heartbeats(nil)[0].Data)}, `{"topic":"people","cursor":"`+string(at[0].Cursor)+`","total":1}`)
		c.DeviceOff("bob", "1")
		c.DeviceOff("bob", "2")
		left := time.Now().UTC()
		c.settle()
		gone := conn.Events(nil)
		want = fmt.Sprintf(`{"topic":"people","cursor":%q,"prev":%q,"total":0,"joins":{},"leaves":{"bob":{"last_seen":"%s"}}}`,
			gone[0].Cursor, at[0].Cursor, left.Format("2006-01-02T15:04:05.000Z"))
		if got := string(gone[0].Data); len(gone) != 1 || got[:60] != want[:60] || !strings.Contains(got, `"leaves":{"bob":{"last_seen":"`) {
			t.Errorf("got %d events, %s, want %s", len(gone), got, want)
		}
		if gone[0].ID != gone[0].Cursor || conn.Cursor() != gone[0].ID {
			t.Errorf("got the id %q and the cursor %q, want %q", gone[0].ID, conn.Cursor(), gone[0].Cursor)
		}
	})
}

// A page that comes back with what it would see gets nothing, on any node and after any
// detour, and else a state. A state can be asked for.
func TestPeopleResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, d := memstore.New(), presencetest.NewMemoryDirectory()
		a, b := startCrowd(t, store, d), startCrowd(t, store, d)
		d.Befriend("friend", "alice")
		a.on(everybody, "bob")
		a.on(forFriends, "friend")
		page := a.watch("alice", "bob", "carol", "friend", "ghost")
		page.want("state bob,friend")
		cursor := page.conn.Cursor()
		a.on(invisible, "ghost") // it must not move the cursor
		back := func(n crowd, from presence.Cursor) []string {
			t.Helper()
			o := peopleOptions("alice", "bob", "carol", "friend", "ghost")
			o.Cursor = from
			p := openPage(t, n.Tracker, o)
			return p.read()
		}
		wantLines(t, "the same node", back(a, cursor))
		wantLines(t, "another node", back(b, cursor))
		wantLines(t, "no cursor", back(b, ""), "state bob,friend")
		wantLines(t, "a strange one", back(b, presence.NewCursor("people", "zz")), "state bob,friend")
		a.on(everybody, "carol")
		wantLines(t, "after a change", back(b, cursor), "state bob,carol,friend")
		page.want("diff +carol -")
		page.conn.WantState(presence.PeopleTopic)
		page.want("state bob,carol,friend")
		page.want()
	})
}

// The list is replaced by a diff: leaves without last seen, and joins. What is replaced twice
// before the page looks is told once.
func TestPeopleWatchReplaces(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.on(everybody, "bob", "carol", "dave")
		page := c.watch("alice", "bob", "carol", "eve")
		page.want("state bob,carol")
		replace := func(people ...string) {
			t.Helper()
			if err := page.conn.Watch(ids(people...)); err != nil {
				t.Error(err)
			}
		}
		replace("dave", "carol")
		page.want("diff +dave -bob")
		if seen := page.lastSeen["bob"]; seen != "" {
			t.Errorf("got last seen %q of one who is online", seen)
		}
		replace()
		replace("carol", "bob", "dave")
		page.want("diff +bob -")
		replace("eve")
		c.off("bob", "carol")
		replace("bob", "carol")
		page.want("diff + -bob,carol,dave")
		c.on(everybody, "dave")
		page.want()
		replace("dave")
		page.want("diff +dave -")
	})
}

// A slow reader has no more to read than its list: whoever comes and goes cancels out, and
// 200 who come at once are one event.
func TestPeopleSlowReader(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		var many []string
		for i := range 200 {
			many = append(many, fmt.Sprintf("u%03d", i))
		}
		page := c.watch("alice", many...)
		page.want("state ")
		for range 5 {
			c.on(everybody, many...)
			c.off(many...)
		}
		page.want()
		c.on(everybody, many...)
		page.want("diff +" + strings.Join(many, ",") + " -")
	})
}

// One wake-up of a group for a burst.
func TestPeopleGroup(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		g, form := track.NewGroup(), track.NewForm(func(b []byte, e presence.Event) []byte { return append(b, e.Data...) })
		var conns []*track.Connection
		for _, viewer := range []string{"alice", "dave"} {
			conn := connect(t, c.Tracker, peopleOptions(viewer, "bob", "carol"))
			g.Add(conn)
			conn.Bytes(form)
			conns = append(conns, conn)
		}
		g.Woken(nil)
		<-g.Ready()
		c.on(everybody, "bob", "carol")
		if n := len(g.Ready()); n != 1 {
			t.Errorf("got %d wake-ups, want 1", n)
		}
		if woken := g.Woken(nil); len(woken) != 2 {
			t.Errorf("got %d connections woken, want 2", len(woken))
		}
		for _, conn := range conns {
			b, n, alone := conn.Bytes(form)
			if n != 1 || !alone || !strings.Contains(string(b), `"bob"`) || !strings.Contains(string(b), `"carol"`) {
				t.Errorf("got %d events %s, want one with both", n, b)
			}
		}
	})
}

// list=contacts: those whom the viewer lists, and those who are named. They are read again
// when the site says that they have changed, and after an error.
func TestPeopleContacts(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("alice", "bob", "carol")
		c.on(everybody, "bob", "carol", "dave", "eve")
		options := peopleOptions("alice", "dave")
		options.Contacts = true
		page := openPage(t, c.Tracker, options)
		page.want("state bob,carol,dave")
		c.directory.Unfriend("alice", "bob")
		c.directory.Befriend("alice", "eve")
		page.want()
		c.HearRelations("alice")
		page.want("diff +eve -bob")
		c.directory.Fail(errors.New("down"))
		late := openPage(t, c.Tracker, options)
		late.want("state carol,dave,eve") // as read last
		c.directory.Befriend("zoe", "bob")
		options.Visitor = visitor("zoe")
		first := openPage(t, c.Tracker, options)
		first.want("state dave")
		c.HearRelations("alice")
		page.want()
		c.directory.Fail(nil)
		time.Sleep(20 * time.Second)
		late.want()
		first.want("diff +bob -")
		page.conn.Watch(ids("bob"))
		page.want("diff +bob -carol,dave,eve")
		c.HearRelations("alice")
		page.want() // the page's own list has taken their place
		first.conn.Close()
		page.conn.Close()
		late.conn.Close()
		if persons, lists, edges := c.Watching(); persons+lists+edges != 0 {
			t.Errorf("got %d persons, %d lists and %d edges after the last list, want none", persons, lists, edges)
		}
	})
}

// Relations are asked in one query for many lists, remembered, asked again after 5 minutes,
// and for nobody who is not there or whom everybody sees. A list that opens costs one query
// in any case (P2).
func TestPeopleRelationsAsked(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		asked := uint64(0)
		more := func(what string, want uint64) {
			t.Helper()
			c.settle()
			now := c.RelationQueries()
			if got := now - asked; got != want {
				t.Errorf("%s: got %d queries, want %d", what, got, want)
			}
			asked = now
		}
		c.on(everybody, "bob")
		other := c.watch("v0", "bob")
		more("everybody sees all", 1)
		var pages []*page
		for i := range 20 {
			viewer := fmt.Sprint("v", i)
			c.directory.Befriend("friend", presence.UserID(viewer))
			pages = append(pages, c.watch(viewer, "bob", "away", "friend"))
		}
		more("20 open", 20)
		c.on(everybody, "away")
		c.off("away")
		more("who is seen by everybody comes", 0)
		c.on(forFriends, "friend")
		more("who is seen by contacts comes", 1)
		for _, p := range pages {
			p.want("state bob,friend")
		}
		other.want("state bob")
		other.conn.Watch(ids("friend"))
		more("another list of one viewer", 0)
		other.want("diff +friend -bob")
		time.Sleep(5*time.Minute + time.Second)
		more("5 minutes", 2) // other was opened before
		c.directory.Unfriend("friend", "v0")
		c.MissRelations()
		more("missed", 1)
		pages[0].want("diff + -friend")
	})
}

// A list that is open while the store is out says so, and again when it is back.
func TestPeopleStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &cutStore{Store: memstore.New()}
		c := startCrowd(t, store, presencetest.NewMemoryDirectory())
		c.on(everybody, "bob")
		conn := connect(t, c.Tracker, peopleOptions("alice", "bob"))
		data(conn)
		at := `heartbeat {"topic":"people","cursor":"` + string(conn.Cursor()) + `","total":1`
		store.cut.Store(true)
		time.Sleep(10 * time.Second)
		wantLines(t, "out", data(conn), at+`,"stale":true}`)
		store.cut.Store(false)
		time.Sleep(10 * time.Second)
		wantLines(t, "back", data(conn), at+`}`)
	})
}

// Without a Directory there are no people, and "people" is a topic like any other.
func TestNoPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		conn := connect(t, tracker, peopleOptions("alice", "bob"))
		if err := conn.Watch(ids("bob")); !errors.Is(err, presence.ErrNoDirectory) {
			t.Errorf("got %v, want %v", err, presence.ErrNoDirectory)
		}
		if _, err := tracker.People().Find(context.Background(), "alice", "bob"); !errors.Is(err, presence.ErrNoDirectory) {
			t.Errorf("got %v, want %v", err, presence.ErrNoDirectory)
		}
		if e := conn.Events(nil); len(e) != 1 || !strings.Contains(string(e[0].Data), `"guests":0`) {
			t.Errorf("got %s, want the state of a roster", e[0].Data)
		}
	})
}

// A list that lives until its tracker closes, and one whose connection could not open.
func TestPeopleFailedOpen(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		o := peopleOptions("alice", "bob")
		o.Topics = append(o.Topics, "people:x")
		if _, err := c.Connect(t.Context(), o); !errors.Is(err, presence.ErrInvalidTopic) {
			t.Errorf("got %v, want %v", err, presence.ErrInvalidTopic)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Connect(ctx, peopleOptions("alice", "bob")); err == nil {
			t.Error("got a connection for a client that has gone")
		}
		conn := connect(t, c.Tracker, track.ConnectOptions{Visitor: visitor("alice")})
		noError(t, conn.Subscribe(t.Context(), presence.PeopleTopic, ""))
		conn.Watch(ids("bob", "carol"))
		if _, _, edges := c.Watching(); edges != 2 {
			t.Errorf("got %d edges, want 2", edges)
		}
		conn.Unsubscribe(presence.PeopleTopic)
		conn.Watch(ids("bob", "carol"))
		if persons, lists, edges := c.Watching(); persons+lists+edges != 0 {
			t.Errorf("got %d persons, %d lists and %d edges, want none", persons, lists, edges)
		}
	})
}

// The whole way: connections hold devices, settings and relations are changed by the site, and
// a page on another node is told (P1, P5, P6).
func TestPeopleWholeWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		time.Sleep(10 * time.Millisecond)
		page := openPage(t, d.b, peopleOptions("alice", "bob"))
		page.want("state ")
		desktop := connect(t, d.a, track.ConnectOptions{Visitor: on("bob", "1")})
		page.want("diff +bob -")
		phone := connect(t, d.b, track.ConnectOptions{Visitor: on("bob", "2")})
		time.Sleep(time.Second)
		desktop.Close()
		time.Sleep(time.Minute)
		for _, line := range page.read() {
			if strings.Contains(line, "-bob") {
				t.Errorf("got %q, and bob has a device left", line)
			}
		}
		step := func(what, want string, do func() error) {
			t.Helper()
			time.Sleep(time.Minute)
			page.read()
			clear(page.lastSeen)
			noError(t, do())
			time.Sleep(time.Second)
			if got := strings.Join(page.read(), ";"); got != want {
				t.Errorf("%s: got %q within a second, want %q", what, got, want)
			}
			if strings.Contains(want, "+bob") && time.Since(page.since("bob")) > 2*time.Second {
				t.Errorf("%s: got since %v ago, want now", what, time.Since(page.since("bob")))
			}
			if seen := page.lastSeen["bob"]; (seen != "") != (what == "invisible") {
				t.Errorf("%s: got a leave with last seen %q", what, seen)
			}
		}
		set := func(s presence.Settings) func() error {
			return func() error { return d.a.People().ChangeSettings(t.Context(), "bob", to(s)) }
		}
		step("contacts", "diff + -bob", set(forFriends))
		step("a contact", "diff +bob -", func() error {
			d.directory.Befriend("bob", "alice")
			return d.a.People().RelationsChanged(t.Context(), "bob")
		})
		step("invisible", "diff + -bob", set(invisible))
		step("everybody", "diff +bob -", set(everybody))
		since := page.since("bob")
		time.Sleep(time.Minute)
		noError(t, set(presence.Settings{Text: "at lunch"})())
		time.Sleep(time.Second)
		if page.want("diff +bob -"); !page.since("bob").Equal(since) {
			t.Errorf("got since %v with another text, want %v as before", page.since("bob"), since)
		}
		step("blocked", "diff + -bob", func() error {
			d.directory.Block("bob", "alice", true)
			return d.a.People().RelationsChanged(t.Context(), "bob")
		})
		step("not blocked", "diff +bob -", func() error {
			d.directory.Block("bob", "alice", false)
			return d.a.People().RelationsChanged(t.Context(), "bob")
		})
		phone.Close()
		time.Sleep(time.Minute)
		page.want("diff + -bob")
		if page.lastSeen["bob"] == "" {
			t.Error("got a leave without last seen, and everybody may know it")
		}
	})
}

// follow reads the page of a viewer at once, and notes what each diff says of a person.
func follow(c crowd, viewer, person string) *[]string {
	c.t.Helper()
	conn := connect(c.t, c.Tracker, peopleOptions(viewer, person))
	conn.Events(nil)
	said := new([]string)
	go func() {
		for {
			select {
			case <-c.t.Context().Done():
				return
			case <-conn.Ready():
			}
			for _, e := range conn.Events(nil) {
				var d payload
				if json.Unmarshal(e.Data, &d) != nil || e.Type != presence.EventDiff {
					continue
				}
				text, _ := d.Joins[person]["text"].(string)
				if _, left := d.Leaves[person]; left {
					*said = append(*said, "leave")
				} else {
					*said = append(*said, strings.TrimSpace("join "+text))
				}
			}
		}
	}()
	return said
}

// TestWatchEnded: a connection that ended tells nothing of the people it watched, whether it had
// told of them before or not. Its list is empty by then, which is no news.
func TestWatchEnded(t *testing.T) {
	for _, read := range []bool{false, true} {
		t.Run(fmt.Sprintf("read %v", read), func(t *testing.T) {
			withCrowd(t, func(t *testing.T, c crowd) {
				c.on(presence.Settings{}, "alice", "bob")
				conn, err := c.Connect(t.Context(), peopleOptions("vera", "alice", "bob"))
				if err != nil {
					t.Fatal(err)
				}
				if read {
					conn.Events(nil)
				}
				at := conn.Cursor()
				conn.Close()
				c.settle()
				for _, e := range append(conn.Events(nil), conn.Heartbeats(nil)...) {
					if e.Type != presence.EventHeartbeat || e.Cursor != at {
						t.Errorf("got %s %s, want nothing new", e.Type, e.Data)
					}
				}
				if got := conn.Cursor(); got != at {
					t.Errorf("got the cursor %q, want %q", got, at)
				}
			})
		})
	}
}
