package track_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// TestWindowGame lets users come, go and change while readers of windows come, go and come back on two
// nodes. After each event a reader has exactly the first users, and those of Also, as they were at the
// versions of its cursor. It plays 2 games, 8 where
// slow tests are asked for, and 200 with PRESENCE_LONG.
func TestWindowGame(t *testing.T) {
	seeds := uint64(2)
	switch {
	case os.Getenv("PRESENCE_LONG") != "":
		seeds = 200
	case need.AskedFor():
		seeds = 8
	}
	for seed := range seeds {
		bubble(t, fmt.Sprint("seed ", seed), func(t *testing.T) { windowGame(t, rand.New(rand.NewPCG(seed, 1)), 400) })
	}
}

func windowGame(t *testing.T, rnd *rand.Rand, steps int) {
	store := memstore.New()
	nodes := []*track.Tracker{start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})}
	history := &chronicle{t: t, rosters: make(map[string]map[string]string)}
	for _, node := range nodes {
		history.watch(connect(t, node, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Limit: 1000}))
	}
	users := span(0, 5+rnd.IntN(60))
	readers := make([]*windowPage, 8)
	for range steps {
		switch id := users[rnd.IntN(len(users))]; rnd.IntN(12) {
		case 0, 1, 2, 3:
			come(t, store, id)
		case 4, 5, 6:
			leave(t, store, id)
		case 7:
			_ = nodes[rnd.IntN(2)].SetStatus(t.Context(), presence.UserID(id), []presence.Status{presence.Online, presence.Busy}[rnd.IntN(2)])
		default:
			i := rnd.IntN(len(readers))
			if readers[i] == nil || rnd.IntN(4) == 0 {
				w := track.Window{Users: []int{1, 3, 10, 50}[rnd.IntN(4)]}
				for range rnd.IntN(3) * 2 {
					w.Also = append(w.Also, presence.UserID(users[rnd.IntN(len(users))]))
				}
				readers[i] = openWindow(t, nodes[rnd.IntN(2)], w, history)
			} else if rnd.IntN(2) == 0 {
				readers[i].move(nodes[rnd.IntN(2)])
			}
		}
		if rnd.IntN(3) > 0 {
			time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond)
		}
		synctest.Wait()
		history.read()
		for _, r := range readers {
			if r != nil && rnd.IntN(3) > 0 { // the others are slow
				r.read()
			}
		}
		if t.Failed() {
			return
		}
	}
	time.Sleep(15 * time.Second)
	synctest.Wait()
	history.read()
	for _, r := range readers {
		if r != nil {
			r.read()
			r.atRest()
		}
	}
}

// A chronicle is every roster that was published, by the version.
type chronicle struct {
	t       *testing.T
	conns   []*track.Connection
	now     []map[string]string
	rosters map[string]map[string]string // by version: the JSON of each user
	latest  []string
}

func (c *chronicle) watch(conn *track.Connection) {
	c.conns, c.now, c.latest = append(c.conns, conn), append(c.now, nil), append(c.latest, "")
	c.read()
}

func (c *chronicle) read() {
	for i, conn := range c.conns {
		for _, e := range conn.Events(nil) {
			d := windowEvent(c.t, e)
			switch e.Type {
			case presence.EventState:
				c.now[i] = d.Users
			case presence.EventDiff:
				was := c.now[i]
				c.now[i] = make(map[string]string)
				for id, u := range was {
					if _, left := d.Leaves[id]; !left {
						c.now[i][id] = u
					}
				}
				for id, u := range d.Joins {
					c.now[i][id] = u
				}
			}
			_, c.latest[i], _ = strings.Cut(string(e.Cursor), ".")
			c.rosters[c.latest[i]] = c.now[i]
		}
	}
}

// windowData is the data of a window's event.
type windowData struct {
	Cursor, Prev string
	Total        int
	Window       int
	Order        []string
	Users, Joins map[string]string // the JSON of each user
	Leaves       map[string]json.RawMessage
	Out          []string
	Truncated    bool
}

func windowEvent(t *testing.T, e presence.Event) (d windowData) {
	t.Helper()
	var raw struct {
		Cursor, Prev string
		Total        int
		Window       int
		Order        []string
		Users, Joins map[string]json.RawMessage
		Leaves       map[string]json.RawMessage
		Out          []string
		Truncated    bool
	}
	if err := json.Unmarshal(e.Data, &raw); err != nil {
		t.Fatalf("%s: %v", e.Data, err)
	}
	text := func(all map[string]json.RawMessage) map[string]string {
		texts := make(map[string]string)
		for id, u := range all {
			texts[id] = string(u)
		}
		return texts
	}
	return windowData{Cursor: raw.Cursor, Prev: raw.Prev, Total: raw.Total, Window: raw.Window, Order: raw.Order, Users: text(raw.Users), Joins: text(raw.Joins), Leaves: raw.Leaves, Out: raw.Out, Truncated: raw.Truncated}
}

// firstOf returns the first users of a roster, the newest first.
func firstOf(roster map[string]string, n int) []string {
	since := func(id string) time.Time {
		var u struct{ Since time.Time }
		_ = json.Unmarshal([]byte(roster[id]), &u)
		return u.Since
	}
	var ids []string
	for id := range roster {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(since(b).Compare(since(a)), strings.Compare(a, b))
	})
	return ids[:min(n, len(ids))]
}

// A windowPage is what a page makes of the events of a window.
type windowPage struct {
	t       *testing.T
	window  track.Window
	history *chronicle
	conn    *track.Connection
	cursor  string
	users   map[string]string
	order   []string
	bytes   int
	events  []string
}

func openWindow(t *testing.T, node *track.Tracker, w track.Window, history *chronicle) *windowPage {
	t.Helper()
	p := &windowPage{t: t, window: w, history: history}
	p.open(node, "")
	return p
}

func (p *windowPage) open(node *track.Tracker, from presence.Cursor) {
	p.t.Helper()
	p.conn = connect(p.t, node, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: p.window, Cursor: from})
}

// move goes on at a node.
func (p *windowPage) move(node *track.Tracker) {
	from := p.conn.Cursor()
	p.conn.Close()
	p.open(node, from)
}

func (p *windowPage) also(id string) bool { return slices.Contains(p.window.Also, presence.UserID(id)) }

// read takes what is pending, and fails the test where an event does not fit.
func (p *windowPage) read() {
	p.t.Helper()
	for _, e := range p.conn.Events(nil) {
		p.bytes += len(e.Data)
		p.events = append(p.events, string(e.Type)+" "+string(e.Data))
		d := windowEvent(p.t, e)
		if d.Cursor != string(e.Cursor) {
			p.t.Errorf("the cursor is %q, and in the data %q", e.Cursor, d.Cursor)
		}
		switch e.Type {
		case presence.EventState:
			if p.users, p.order = d.Users, d.Order; d.Window != p.window.Users {
				p.t.Errorf("window is %d, want %d", d.Window, p.window.Users)
			}
		case presence.EventDiff:
			p.apply(d)
		}
		if e.Type != presence.EventHeartbeat {
			p.cursor = d.Cursor
			p.check()
		} else if d.Cursor != p.cursor {
			p.t.Errorf("a heartbeat at %q, after %q", d.Cursor, p.cursor)
		}
		if p.t.Failed() {
			n := max(0, len(p.events)-4)
			p.t.Fatalf("window %+v\n%s", p.window, strings.Join(p.events[n:], "\n"))
		}
	}
}

func (p *windowPage) apply(d windowData) {
	p.t.Helper()
	if d.Prev != p.cursor {
		p.t.Errorf("prev is %q, want %q", d.Prev, p.cursor)
	}
	users := make(map[string]string)
	for id, u := range p.users {
		users[id] = u
	}
	for id := range d.Leaves {
		if users[id] == "" {
			p.t.Errorf("%s left, and was not there", id)
		}
		delete(users, id)
	}
	for id, u := range d.Joins {
		if users[id] == u {
			p.t.Errorf("%s joined unchanged", id)
		}
		users[id] = u
	}
	for _, id := range d.Out {
		if _, joined := d.Joins[id]; !slices.Contains(p.order, id) && !joined {
			p.t.Errorf("%s fell out, and was not in", id)
		}
		if !p.also(id) {
			delete(users, id)
		}
	}
	p.users = users
	p.order = firstOf(users, p.window.Users)
}

// check compares the page with the rosters of its cursor.
func (p *windowPage) check() {
	p.t.Helper()
	parts := strings.Split(p.cursor, ".")
	names, also := p.history.rosters[parts[1]], p.history.rosters[parts[1]]
	if len(parts) > 4 {
		also = p.history.rosters[parts[4]]
	}
	if names == nil || also == nil {
		p.t.Errorf("the version of %q was not published", p.cursor)
		return
	}
	want := make(map[string]string)
	first := firstOf(names, p.window.Users)
	for _, id := range first {
		if !p.also(id) {
			want[id] = names[id]
		}
	}
	for _, id := range p.window.Also {
		if u := also[string(id)]; u != "" {
			want[string(id)] = u
		}
	}
	if fmt.Sprint(want) != fmt.Sprint(p.users) {
		p.t.Errorf("the page has\n%v, want\n%v", p.users, want)
	}
	if len(parts) < 5 && !slices.Equal(p.order, first) {
		p.t.Errorf("the order is %v, want %v", p.order, first)
	}
}

// atRest fails the test unless the page shows what there is.
func (p *windowPage) atRest() {
	p.t.Helper()
	for _, latest := range p.history.latest {
		roster := p.history.rosters[latest]
		if first := firstOf(roster, p.window.Users); !slices.Equal(p.order, first) {
			p.t.Errorf("at rest the order is %v, want %v", p.order, first)
		}
	}
}

// A window that nobody reads costs nothing, and is as good as a new one for the next reader. A client that
// polls is told as often as a stream is: it comes back to the window's pace.
func TestWindowUnread(t *testing.T) {
	bubble(t, "polls", func(t *testing.T) {
		store := memstore.New()
		node := start(t, store, track.Config{})
		come(t, store, span(0, 50)...)
		o := track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: track.Window{Users: 20}}
		polls, diffs := 0, 0
		for began, i := time.Now(), 50; time.Since(began) < 30*time.Second; i++ {
			come(t, store, fmt.Sprint("u", i))
			synctest.Wait()
			c := connect(t, node, o)
			for _, e := range c.Events(nil) {
				if e.Type == presence.EventDiff {
					diffs++
				}
			}
			polls, o.Cursor = polls+1, c.Cursor()
			c.Close()
			time.Sleep(100 * time.Millisecond)
		}
		if diffs < 4 || diffs > 20 {
			t.Errorf("%d polls in half a minute brought %d diffs, want one each few seconds", polls, diffs)
		}
		time.Sleep(20 * time.Second)
		come(t, store, "new")
		synctest.Wait()
		c := connect(t, node, o)
		if all := c.Events(nil); len(all) == 0 || all[0].Type != presence.EventDiff {
			t.Errorf("who comes back after a while gets %v, want a diff", all)
		}
	})
	bubble(t, "a page that opens", func(t *testing.T) {
		store := memstore.New()
		node := start(t, store, track.Config{})
		come(t, store, span(0, 50)...)
		o := track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: track.Window{Users: 20}}
		before := connect(t, node, o)
		before.Events(nil)
		before.Close()
		time.Sleep(time.Second)
		come(t, store, span(50, 70)...) // nobody gets the event of this
		time.Sleep(time.Second)
		c := connect(t, node, o)
		c.Events(nil)
		leave(t, store, "u69")
		time.Sleep(100 * time.Millisecond)
		for _, e := range c.Events(nil) {
			if _, left := windowEvent(t, e).Leaves["u69"]; left {
				return
			}
		}
		t.Error("the page is not told of the first change at once")
	})
}
