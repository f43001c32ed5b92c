package feed_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A client applies events as a page does.
type client struct {
	conn   *track.Connection
	cursor presence.Cursor
	items  map[string]string // by id: place, state, count and text
	places map[string]int64
	lowest int64 // the state had no items below; 0: it had all
	unread int
}

func (c *client) take(t *testing.T, e presence.Event) {
	t.Helper()
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		t.Fatal(err)
	}
	switch e.Type {
	case presence.EventState:
		if v.More && len(v.Items) < feed.PageItems {
			t.Fatalf("got a state of %d items, and there are more", len(v.Items))
		}
		c.items, c.places, c.lowest = make(map[string]string), make(map[string]int64), 0
	case presence.EventDiff:
		if v.Prev != c.cursor {
			t.Fatalf("got a diff from %s, and the page has %s", v.Prev, c.cursor)
		}
	default:
		if v.Unread != nil && v.Cursor != c.cursor {
			t.Fatalf("got a heartbeat at %s, and the page has %s", v.Cursor, c.cursor)
		}
		return
	}
	c.cursor, c.unread = v.Cursor, *v.Unread
	for _, i := range v.Items {
		if c.items[i.ID] = fmt.Sprint(i.Pos, " ", i.State, " ", i.N, " ", i.Text); i.State == "archived" {
			delete(c.items, i.ID)
		}
		c.places[i.ID] = i.Pos
		if v.More {
			c.lowest = i.Pos // the last one is the lowest
		}
	}
}

// wantAs compares the page with the newest items of the feed.
func (c *client) wantAs(t *testing.T, what string, p feed.Page, text func(feed.Item) string) {
	t.Helper()
	want := make(map[string]string)
	for _, i := range p.Items {
		if i.Pos >= c.lowest {
			want[i.ID] = fmt.Sprint(i.Pos, " ", i.State, " ", i.Count, " ", text(i))
		}
	}
	got := maps.Clone(c.items)
	maps.DeleteFunc(got, func(id, _ string) bool { return c.places[id] < c.lowest })
	if !maps.Equal(got, want) || c.unread != p.Head.Unread {
		t.Fatalf("%s: got %d unread and\n%v\nwant %d and\n%v", what, c.unread, got, p.Head.Unread, want)
	}
}

// Whatever happens to an inbox, and to the way to its pages, a page that applied all events
// shows what a page read afresh does (rules F2, F8, F9).
func TestKeeperModel(t *testing.T) {
	seeds := uint64(8)
	if need.AskedFor() {
		seeds = 30
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			inFleet(t, feed.Config{Most: 60}, func(t *testing.T, f *fleet) { playInbox(t, f, rand.New(rand.NewPCG(seed, 14))) })
		})
	}
}

func playInbox(t *testing.T, f *fleet, rnd *rand.Rand) {
	nodes := []*node{f.a, f.b}
	pages := make([]*client, 3)
	connect := func(i int, from presence.Cursor) {
		n := nodes[rnd.IntN(2)]
		c := follow(t, n, "alice", "inbox", from)
		if pages[i] == nil || from == "" {
			pages[i] = &client{}
		}
		pages[i].conn = c.conn
	}
	for i := range pages {
		connect(i, "")
	}
	read := func() {
		synctest.Wait()
		for _, c := range pages {
			for _, e := range c.conn.Events(nil) {
				c.take(t, e)
			}
		}
	}
	var log []string
	for step := range 150 {
		what := act(t, f, nodes[rnd.IntN(2)], rnd)
		if i := rnd.IntN(len(pages)); rnd.IntN(6) == 0 {
			from := pages[i].cursor
			if rnd.IntN(3) == 0 {
				from = ""
			}
			pages[i].conn.Close()
			connect(i, from)
			what += fmt.Sprint(", page ", i, " comes back with ", from)
		}
		if log = append(log, fmt.Sprint(step, " ", what)); rnd.IntN(4) > 0 {
			time.Sleep(50 * time.Millisecond)
			read()
		}
		if rnd.IntN(12) > 0 {
			continue
		}
		f.db.Out(false)
		time.Sleep(32 * time.Second) // a check heals all
		read()
		time.Sleep(time.Second)
		read()
		p, err := f.a.Page(t.Context(), "inbox:alice", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range pages {
			c.wantAs(t, fmt.Sprintf("page %d after\n%s", i, strings.Join(log[max(0, len(log)-15):], "\n")), p, f.a.Text)
		}
	}
}

// act performs one random operation and returns its description for the log. It ignores errors,
// because the database may be out.
func act(t *testing.T, f *fleet, n *node, rnd *rand.Rand) string {
	places := make([]int64, 1+rnd.IntN(3))
	for i := range places {
		places[i] = int64(rnd.IntN(150))
	}
	switch deed := rnd.IntN(20); deed {
	case 0, 1, 2, 3, 4, 5:
		ms := make([]feed.Message, 1+rnd.IntN(4))
		for i := range ms {
			ms[i] = to("alice", fmt.Sprint("m", rnd.IntN(400)), fmt.Sprint("{actors} wrote ", rnd.IntN(100)))
			ms[i].From, ms[i].About = presence.UserID(fmt.Sprint("u", rnd.IntN(5))), fmt.Sprint("thread:", rnd.IntN(4))
			if rnd.IntN(2) == 0 {
				ms[i].Group = "replies"
			}
		}
		_ = n.Send(t.Context(), ms...)
		return fmt.Sprint("send ", len(ms))
	case 6: // a hint that nobody sends
		_ = f.db.Send(t.Context(), to("alice", "", "quiet"))
		_, _ = f.db.Relay(t.Context(), feed.RelayOptions{Most: 60})
		return "send in silence"
	case 7, 8, 9, 10:
		m := feed.Mark{As: feed.State(rnd.IntN(3)), Pos: places}
		_, _ = n.Mark(t.Context(), "inbox:alice", m)
		return fmt.Sprint("mark ", m)
	case 11:
		m := feed.Mark{As: feed.State(1 + rnd.IntN(2)), UpTo: places[0] + 1}
		_, _ = n.Mark(t.Context(), "inbox:alice", m)
		return fmt.Sprint("mark ", m)
	case 12:
		m := feed.Mark{As: feed.Read, About: fmt.Sprint("thread:", rnd.IntN(4)), UpTo: places[0]}
		_, _ = n.Mark(t.Context(), "inbox:alice", m)
		return fmt.Sprint("mark ", m)
	case 13:
		_, _ = n.Mark(t.Context(), "inbox:alice", feed.Mark{Seen: true})
		return "seen"
	case 14:
		_, _ = n.Trim(t.Context())
		return "trim"
	case 15:
		f.db.Out(true)
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
		return "the database is out"
	case 16:
		f.db.Out(false)
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
		return "the database is back"
	case 17:
		time.Sleep(time.Duration(rnd.IntN(90)) * time.Second)
		return "a pause"
	case 18:
		_, _ = n.Relay(t.Context())
		return "relay"
	default:
		_ = n.tracker.Hint(t.Context(), fmt.Sprint(rnd.IntN(300), " inbox:alice"))
		return "a forged hint"
	}
}
