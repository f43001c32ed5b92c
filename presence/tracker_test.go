package presence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start returns a tracker over a store, swept every second, that is closed with
// the test. It is for the inside of a synctest bubble.
func start(t *testing.T, store presence.Store, cfg presence.Config) *presence.Tracker {
	t.Helper()
	tracker, err := presence.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		for ctx.Err() == nil {
			time.Sleep(time.Second)
			_, _ = tracker.Sweep(ctx)
			_, _ = tracker.Age(ctx)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-swept
		if err := tracker.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return tracker
}

func user(id string) presence.User {
	return presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)}
}

func visitor(id string) presence.Visitor { return presence.Visitor{User: user(id)} }

// connect opens a connection that is closed with the test.
func connect(t *testing.T, tracker *presence.Tracker, o presence.ConnectOptions) *presence.Connection {
	t.Helper()
	if o.Topics == nil {
		o.Topics = []presence.Topic{presence.Site}
	}
	c, err := tracker.Connect(t.Context(), o)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// payload is any event's data.
type payload struct {
	Topic  string
	Cursor string
	Prev   string
	Total  int
	Guests int
	Recent int
	Users  map[string]map[string]any
	Joins  map[string]map[string]any
	Leaves map[string]map[string]any
}

// page is what a page makes of a stream: the roster, and a line for each event.
type page struct {
	t      *testing.T
	conn   *presence.Connection
	cursor map[string]string
	roster map[string]map[string]string // topic, user, profile
	lines  []string
}

func openPage(t *testing.T, tracker *presence.Tracker, o presence.ConnectOptions) *page {
	t.Helper()
	p := &page{t: t, conn: connect(t, tracker, o), cursor: map[string]string{}, roster: map[string]map[string]string{}}
	return p
}

// read takes what is pending, and fails the test for a diff that does not fit.
func (p *page) read() []string {
	p.t.Helper()
	began := len(p.lines)
	for _, ev := range p.conn.Events(nil) {
		var d payload
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			p.t.Fatalf("%s is not JSON: %v\n%s", ev.Type, err, ev.Data)
		}
		if d.Topic != string(ev.Topic) || d.Cursor != string(ev.Cursor) {
			p.t.Errorf("got topic and cursor %q, %q in the data, want %q, %q", d.Topic, d.Cursor, ev.Topic, ev.Cursor)
		}
		roster := p.roster[d.Topic]
		switch ev.Type {
		case presence.EventState:
			roster = map[string]string{}
			for id, u := range d.Users {
				roster[id] = fmt.Sprint(u)
			}
			p.lines = append(p.lines, "state "+names(d.Users))
		case presence.EventDiff:
			if prev, ok := p.cursor[d.Topic]; ok && d.Prev != prev {
				p.t.Errorf("got prev %q, want %q", d.Prev, prev)
			}
			for id, u := range d.Joins {
				if _, both := d.Leaves[id]; both {
					p.t.Errorf("%q stands in one diff twice: %s", id, ev.Data)
				}
				if roster[id] == fmt.Sprint(u) {
					p.t.Errorf("got a join of %q twice in a row: %s", id, ev.Data)
				}
				roster[id] = fmt.Sprint(u)
			}
			for id := range d.Leaves {
				if roster[id] == "" {
					p.t.Errorf("got a leave of %q, who was not there: %s", id, ev.Data)
				}
				delete(roster, id)
			}
			if d.Total != len(roster) {
				p.t.Errorf("got total %d, want %d", d.Total, len(roster))
			}
			p.lines = append(p.lines, strings.TrimSpace("diff +"+names(d.Joins)+" -"+names(d.Leaves)))
		case presence.EventHeartbeat:
			continue
		}
		p.roster[d.Topic], p.cursor[d.Topic] = roster, d.Cursor
	}
	return p.lines[began:]
}

func names(users map[string]map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(users)), ",")
}

// want reads after a moment and compares.
func (p *page) want(lines ...string) {
	p.t.Helper()
	p.settle()
	if got := p.read(); !slices.Equal(got, lines) {
		p.t.Errorf("got events %q, want %q", got, lines)
	}
}

// settle waits until what happened has gone its way.
func (p *page) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func TestOneJoinsAndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		w := openPage(t, tracker, presence.ConnectOptions{})
		w.want("state ")
		alice := openPage(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
		if got := alice.read(); !slices.Equal(got, []string{"state alice"}) {
			t.Errorf("the one who joins: got %q, want a state that holds herself", got)
		}
		w.want("diff +alice -")

		alice.conn.Close()
		time.Sleep(9 * time.Second)
		w.want()
		time.Sleep(2 * time.Second)
		w.want("diff + -alice")
	})
}

func TestNavigationShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		tracker.Seen(presence.Site, user("alice"))
		w := openPage(t, tracker, presence.ConnectOptions{})
		w.want("state alice")
		for range 10 {
			tracker.Seen(presence.Site, user("alice"))
			c := connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(4 * time.Second)
			c.Close()
			time.Sleep(time.Second)
		}
		w.want()
		time.Sleep(10 * time.Second)
		w.want("diff + -alice")
	})
}

func TestClosedTabEndsAnEarlierPageView(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after bool // a page view comes after the stream was opened
		gone  time.Duration
	}{
		{"page view before the stream", false, 11 * time.Second},
		{"page view after the stream", true, 5*time.Minute + time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker := start(t, presence.NewMemoryStore(), presence.Config{})
				w := openPage(t, tracker, presence.ConnectOptions{})
				w.want("state ")
				tracker.Seen(presence.Site, user("alice"))
				c := connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
				if tc.after {
					tracker.Seen(presence.Site, user("alice"))
				}
				w.want("diff +alice -")
				c.Close()
				time.Sleep(tc.gone - 3*time.Second)
				w.want()
				time.Sleep(4 * time.Second)
				w.want("diff + -alice")
			})
		})
	}
}

func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		seen := func(id string) { tracker.Seen(presence.Site, user(id)); time.Sleep(100 * time.Millisecond) }
		seen("alice")
		first := openPage(t, tracker, presence.ConnectOptions{})
		first.want("state alice")
		at := first.conn.Cursor()

		resume := func(from presence.Cursor, want ...string) {
			t.Helper()
			p := openPage(t, tracker, presence.ConnectOptions{Cursor: from})
			p.roster["site"] = map[string]string{"alice": "-"}
			if from == at {
				p.cursor["site"] = string(at)
			}
			p.want(want...)
			p.conn.Close()
		}
		resume(at)
		seen("bob")
		seen("carol")
		if err := tracker.SignOut(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		resume(at, "diff +carol -")
		seen("bob")
		resume(at, "diff +bob,carol -")
		for _, garbage := range []presence.Cursor{"x", "~~~", "site.0", "\x00", presence.Cursor(strings.Repeat("a", 1<<20)), presence.Cursor(strings.Repeat("~", 1<<10)), at + "x"} {
			resume(garbage, "state alice,bob,carol")
		}
	})
}

func TestResumeAfterTheTopicWasForgottenHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		tracker.Seen(presence.Site, user("alice"))
		p := openPage(t, tracker, presence.ConnectOptions{})
		p.want("state alice")
		at := p.conn.Cursor()
		p.conn.Close()
		tracker.Seen(presence.Site, user("bob"))
		time.Sleep(2 * time.Minute)
		if got := tracker.Stats().Topics; got != 0 {
			t.Fatalf("got %d topics in memory that nobody looks at, want 0", got)
		}
		back := openPage(t, tracker, presence.ConnectOptions{Cursor: at})
		back.roster["site"] = map[string]string{"alice": "-"}
		back.want("diff +bob -")
	})
}

func TestMerging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presence.NewMemoryStore()
		tracker := start(t, store, presence.Config{})
		signOut := func(id presence.UserID) { // elsewhere
			store.Apply(t.Context(), []presence.Batch{{Topic: presence.Site, Ops: []presence.Op{{Kind: presence.OpSignOut, User: presence.User{ID: id}}}}})
		}
		w := openPage(t, tracker, presence.ConnectOptions{})
		w.want("state ")
		tracker.Seen(presence.Site, user("alice"))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := w.read(); !slices.Equal(got, []string{"diff +alice -"}) {
			t.Errorf("the first change after a quiet moment: got %q, want it at once", got)
		}
		for i := range 10 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)))
			time.Sleep(4 * time.Millisecond)
		}
		signOut("u9")    // came and went inside the window
		signOut("alice") // was there, and is again
		tracker.Seen(presence.Site, user("alice"))
		w.want("diff +u0,u1,u2,u3,u4,u5,u6,u7,u8 -")
	})
}

func TestSlowReaderGetsAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{Merge: -1})
		w := openPage(t, tracker, presence.ConnectOptions{})
		w.want("state ")
		for i := range 1100 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i%2)))
			time.Sleep(5 * time.Millisecond)
			_ = tracker.SignOut(t.Context(), presence.UserID(fmt.Sprint("u", i%2)))
		}
		tracker.Seen(presence.Site, user("last"))
		w.want("state last")
		tracker.Seen(presence.Site, user("more"))
		w.want("diff +more -")
	})
}

func TestSignOutEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presence.NewMemoryStore()
		a := start(t, store, presence.Config{Node: "a"})
		b := start(t, store, presence.Config{Node: "b"})
		w := openPage(t, a, presence.ConnectOptions{Topics: []presence.Topic{"site", "thread:1"}})
		w.want("state ", "state ")
		a.Seen(presence.Site, user("alice"))
		here := connect(t, a, presence.ConnectOptions{Visitor: visitor("alice")})
		there := connect(t, b, presence.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}})
		w.want("diff +alice -", "diff +alice -")
		if err := a.SignOut(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*presence.Connection{here, there} {
			<-c.Done()
			if !errors.Is(c.Err(), presence.ErrSignedOut) {
				t.Errorf("got %v, want ErrSignedOut", c.Err())
			}
			c.Close()
		}
		w.want("diff + -alice", "diff + -alice")
		time.Sleep(time.Minute)
		w.want()
	})
}

func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		w := openPage(t, tracker, presence.ConnectOptions{})
		w.want("state ")
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("bob"), Beat: true}) // a machine that went to sleep
		beats := connect(t, tracker, presence.ConnectOptions{Visitor: visitor("carol"), Beat: true})
		w.want("diff +alice -", "diff +bob -", "diff +carol -")
		for range 20 {
			time.Sleep(15 * time.Second)
			if !beats.Beat() {
				t.Fatal("got false from Beat of an open connection, want true")
			}
		}
		w.want("diff + -bob")
	})
}

func TestConnectionsOfDifferentNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presence.NewMemoryStore()
		a := start(t, store, presence.Config{})
		b := start(t, store, presence.Config{})
		w := openPage(t, b, presence.ConnectOptions{})
		w.want("state ")
		onA := connect(t, a, presence.ConnectOptions{Visitor: visitor("alice")})
		onB := connect(t, b, presence.ConnectOptions{Visitor: visitor("alice")})
		if onA.ID() == onB.ID() {
			t.Errorf("two nodes gave one id: %q", onA.ID())
		}
		w.want("diff +alice -")
		onA.Close()
		time.Sleep(time.Minute)
		w.want()
		onB.Close()
		time.Sleep(time.Minute)
		w.want("diff + -alice")
	})
}

func TestCloseReleasesWithGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presence.NewMemoryStore()
		a, err := presence.New(store, presence.Config{})
		if err != nil {
			t.Fatal(err)
		}
		b := start(t, store, presence.Config{})
		w := openPage(t, b, presence.ConnectOptions{})
		w.want("state ")
		comes, _ := a.Connect(t.Context(), presence.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"site"}})
		goes, _ := a.Connect(t.Context(), presence.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{"site"}})
		w.want("diff +alice -", "diff +bob -")
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*presence.Connection{comes, goes} {
			if <-c.Done(); !errors.Is(c.Err(), presence.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", c.Err())
			}
		}
		if _, err := a.Connect(t.Context(), presence.ConnectOptions{Topics: []presence.Topic{"site"}}); !errors.Is(err, presence.ErrClosed) {
			t.Errorf("Connect after Close: got %v, want ErrClosed", err)
		}
		connect(t, b, presence.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(15 * time.Second)
		w.want("diff + -bob")
	})
}

func TestGuestsAndRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		for i := range 20 {
			tracker.SeenGuest(presence.Site, fmt.Sprint("g", i))
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)))
		}
		connect(t, tracker, presence.ConnectOptions{Visitor: presence.Visitor{Guest: "g1"}})
		connect(t, tracker, presence.ConnectOptions{Visitor: presence.Visitor{Guest: "streams"}})
		connect(t, tracker, presence.ConnectOptions{Visitor: presence.Visitor{Guest: "observes"}, Observe: true})
		want := func(total, guests, recent int) {
			t.Helper()
			time.Sleep(time.Second)
			v, err := tracker.View(t.Context(), presence.Site)
			if err != nil {
				t.Fatal(err)
			}
			if v.Total != total || v.Guests != guests || v.Recent != recent {
				t.Errorf("got %d online, %d guests, %d recent, want %d, %d, %d", v.Total, v.Guests, v.Recent, total, guests, recent)
			}
		}
		want(20, 21, 20)
		time.Sleep(6 * time.Minute)
		want(0, 21, 20)
		time.Sleep(6 * time.Minute)
		want(0, 2, 0)
	})
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		w := openPage(t, tracker, presence.ConnectOptions{})
		w.want("state ")
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		set := func(s presence.Status) {
			t.Helper()
			if err := tracker.SetStatus(t.Context(), "alice", s); err != nil {
				t.Fatal(err)
			}
		}
		set(presence.Busy)
		w.want("diff +alice -")
		set(presence.Busy)
		w.want()
		set(presence.Invisible)
		w.want("diff + -alice")
		second := connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")}) // the second device
		tracker.Seen(presence.Site, user("alice"))
		second.Close()
		time.Sleep(time.Minute)
		w.want()
		set(presence.Online)
		w.want("diff +alice -")
		if err := tracker.SetStatus(t.Context(), "alice", "asleep"); !errors.Is(err, presence.ErrInvalidStatus) {
			t.Errorf("got %v, want ErrInvalidStatus", err)
		}
	})
}

func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		tracker.Seen(presence.Site, user("alice"))
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		var at presence.Cursor
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for c, err := range tracker.Changes(ctx, presence.Site, "") {
				if err != nil {
					t.Errorf("Changes: %v", err)
				}
				for _, m := range c.Joins {
					got = append(got, fmt.Sprint(c.State, " +", m.ID))
				}
				for _, d := range c.Leaves {
					got = append(got, fmt.Sprint(c.State, " -", d.ID))
				}
				at = c.Cursor
			}
		}()
		time.Sleep(time.Second)
		tracker.Seen(presence.Site, user("bob"))
		time.Sleep(time.Second)
		_ = tracker.SignOut(t.Context(), "alice")
		time.Sleep(time.Second)
		cancel()
		<-ended
		if want := []string{"true +alice", "false +bob", "false -alice"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		tracker.Seen(presence.Site, user("carol"))
		time.Sleep(time.Second)
		for c := range tracker.Changes(t.Context(), presence.Site, at) {
			if len(c.Joins) != 1 || c.Joins[0].ID != "carol" || c.State {
				t.Errorf("from a cursor: got %+v, want the join of carol", c)
			}
			break
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{ConnectionsPerUser: 2, TopicsPerConnection: 3})
		many := []presence.Topic{"a", "b", "c", "d"}
		if _, err := tracker.Connect(t.Context(), presence.ConnectOptions{Visitor: visitor("alice"), Topics: many}); !errors.Is(err, presence.ErrTooManyTopics) {
			t.Errorf("got %v, want ErrTooManyTopics", err)
		}
		if got := tracker.Stats().Topics; got != 0 {
			t.Errorf("got %d topics after a refusal, want nothing recorded", got)
		}
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"a", "b", "a", "c", "c"}})
		c := connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
		if _, err := tracker.Connect(t.Context(), presence.ConnectOptions{Visitor: visitor("alice"), Topics: many[:1]}); !errors.Is(err, presence.ErrTooManyConnections) {
			t.Errorf("got %v, want ErrTooManyConnections", err)
		}
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("bob")})
		c.Close()
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
	})
}

func TestPagingMissesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		for i := range 100 {
			tracker.Seen(presence.Site, user(fmt.Sprintf("u%02d", i)))
			if i%10 == 9 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Second)
		var got []string
		after := ""
		for {
			v, err := tracker.View(t.Context(), presence.Site)
			if err != nil {
				t.Fatal(err)
			}
			page, next, err := v.Page(after, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				got = append(got, string(m.ID))
			}
			if after = next; after == "" {
				break
			}
			tracker.Seen(presence.Site, user("new"+after)) // who comes meanwhile comes before
			_ = tracker.SignOut(t.Context(), page[len(page)-1].ID)
			time.Sleep(time.Second)
		}
		slices.Sort(got)
		if len(got) != 100 || len(slices.Compact(got)) != 100 {
			t.Errorf("got %d users, want each of the 100 once", len(got))
		}
		v, _ := tracker.View(t.Context(), presence.Site)
		for _, bad := range []string{"x", ".", "zz.!", "1.\xff"} {
			if _, _, err := v.Page(bad, 7); err == nil {
				t.Errorf("Page(%q): got no error, want one", bad)
			}
		}
	})
}

func TestNeedsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(presence.NewMemoryStore())
		tracker := start(t, faults, presence.Config{})
		needs := func(want bool, since time.Time) {
			t.Helper()
			if got := tracker.NeedsSeen("alice", since); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		began := time.Now()
		needs(false, began)
		faults.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallApply)
		opened := make(chan *presence.Connection)
		go func() {
			c, _ := tracker.Connect(t.Context(), presence.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
			opened <- c
		}()
		time.Sleep(500 * time.Millisecond)
		needs(true, time.Now()) // the join is on its way: a view now may come before it
		c := <-opened
		needs(true, began)
		time.Sleep(time.Second)
		needs(false, time.Now())
		c.Close()
		needs(false, began)
		faults.Heal()
		_ = tracker.SignOut(t.Context(), "alice")
		needs(true, began)
		time.Sleep(time.Second)
		needs(false, time.Now())
	})
}
