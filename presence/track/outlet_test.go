package track_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

const sales presence.Topic = "sales:today"

// said is what a connection reads now, in short: the data of a counter's events, and
// the type of a roster's.
func said(events []presence.Event) []string {
	var said []string
	for _, e := range events {
		if e.Topic == sales {
			said = append(said, fmt.Sprintf("%s %s", e.Type, e.Data))
		} else {
			said = append(said, fmt.Sprintf("%s of %s", e.Type, e.Topic))
		}
	}
	return said
}

// A connection reads a source that is no roster beside a roster: a state first, then
// each event; one diff for a cursor; a state if the connection fell out of the log.
func TestSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MergeWindow: -1})
		counter := track.NewCounter(sales)
		tracker.ServeCounter(counter)
		open := func(from presence.Cursor) *track.Connection {
			t.Helper()
			c := connect(t, tracker, track.ConnectOptions{Observe: true, Cursor: from})
			noError(t, c.Subscribe(t.Context(), sales, from))
			return c
		}
		want := func(what string, got []presence.Event, want ...string) presence.Cursor {
			t.Helper()
			if !slices.Equal(said(got), want) {
				t.Errorf("%s: got %q, want %q", what, said(got), want)
			}
			if len(got) == 0 {
				return ""
			}
			return got[len(got)-1].ID
		}
		tick := func(c *track.Connection) {
			t.Helper()
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			select {
			case <-c.Ready():
			default:
				t.Error("the connection was not woken")
			}
		}

		c := open("")
		want("at first", c.Events(nil), "state of site", "state =0")
		for len(c.Ready()) > 0 {
			<-c.Ready()
		}
		counter.Add()
		tick(c)
		want("an event", c.Events(nil), "diff +1")
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		tick(c)
		want("a join", c.Events(nil), "diff of site")
		counter.Burn(40)
		tick(c)
		at := want("a figure", c.Events(nil), "heartbeat 40 W")
		if at != c.Cursor() {
			t.Errorf("got id %q, want the cursor of both topics, %q", at, c.Cursor())
		}
		want("heartbeats", c.Heartbeats(nil), "heartbeat of site", "heartbeat 40 W")
		c.WantState(sales)
		want("a state wanted", c.Events(nil), "state =1")

		counter.Add()
		counter.Add()
		want("resumed", open(at).Events(nil), "heartbeat of site", "diff +2")
		for range 2000 {
			counter.Add()
		}
		want("resumed too late", open(at).Events(nil), "heartbeat of site", "state =2003")
		want("fallen out of the log", c.Events(nil), "state =2003")
		if got := counter.Lagged(); got != 1 {
			t.Errorf("got %d readers that lagged, want 1", got)
		}
	})
}

// A source wakes a group, its bytes are shared, and readers that have gone leave
// nothing behind. A connection holds its user in rosters only.
func TestSourceOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MergeWindow: -1})
		counter := track.NewCounter(sales)
		tracker.ServeCounter(counter)
		g := track.NewGroup()
		names := map[*track.Connection]string{}
		var all []*track.Connection
		for _, id := range []string{"alice", "bob"} {
			c := connect(t, tracker, track.ConnectOptions{Visitor: visitor(id), Topics: []presence.Topic{presence.Site, sales}})
			g.Add(c)
			names[c], all = id, append(all, c)
		}
		for woken(t, g, names) != nil {
			time.Sleep(time.Second)
		}
		counter.Add()
		if got := woken(t, g, names); !slices.Equal(got, []string{"alice", "bob"}) {
			t.Errorf("got %q woken, want both", got)
		}
		form := track.NewForm(func(b []byte, e presence.Event) []byte { return append(b, e.Data...) })
		if _, _, alone := all[0].Bytes(form); alone {
			t.Error("a connection of two topics has shared bytes")
		}
		for _, c := range all { // a heartbeat makes a lease again that is gone
			c.Beat()
		}
		time.Sleep(time.Second)
		if s, err := tracker.Sightings(t.Context(), sales, "alice", "bob"); err != nil || s[0].Online || s[1].Online {
			t.Errorf("got %+v, %v: a connection holds its user in a topic that is no roster", s, err)
		}
		counter.Add()
		var bytes [2][]byte
		for i, c := range all {
			c.Unsubscribe(presence.Site)
			bytes[i], _, _ = c.Bytes(form)
		}
		if string(bytes[0]) != "+1" || &bytes[0][0] != &bytes[1][0] {
			t.Errorf("got %q and %q, want the same bytes", bytes[0], bytes[1])
		}
		if counter.Idle() {
			t.Error("the counter is idle, and two connections read it")
		}
		for _, c := range all {
			c.Close()
		}
		time.Sleep(time.Second)
		if !counter.Idle() {
			t.Error("the counter has readers, and all connections are closed")
		}
	})
}

// More Forms than share bytes work as well, and each gets its own.
func TestManyForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MergeWindow: -1})
		const forms = 10
		var all [forms]*track.Form
		var conns [forms]*track.Connection
		for i := range forms {
			all[i] = track.NewForm(func(b []byte, e presence.Event) []byte { return fmt.Appendf(b, "%d %s\n", i, e.Type) })
			conns[i] = connect(t, tracker, track.ConnectOptions{Observe: true})
		}
		for round, what := range []string{"state", "diff", "diff"} {
			for i, c := range conns {
				want := fmt.Sprintf("%d %s\n", i, what)
				if got, n, _ := c.Bytes(all[i]); string(got) != want || n != 1 {
					t.Errorf("round %d: got %d events %q, want %q", round, n, got, want)
				}
			}
			tracker.Seen(presence.Site, user(fmt.Sprint("u", round)), presence.Device{})
			time.Sleep(10 * time.Millisecond)
		}
	})
}
