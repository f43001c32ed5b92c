package track_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bubble runs a test by its name in a bubble of its own.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// start returns a tracker over a store, swept every second, that is closed with
// the test. It is for the inside of a synctest bubble.
func start(t *testing.T, store backend.Store, cfg track.Config) *track.Tracker {
	t.Helper()
	tracker, err := track.New(store, cfg)
	noError(t, err)
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

// pair returns two nodes of one store.
func pair(t *testing.T, store backend.Store) (a, b *track.Tracker) {
	t.Helper()
	return start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
}

func user(id string) presence.User {
	return presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)}
}

func visitor(id string) presence.Visitor { return presence.Visitor{User: user(id)} }

// connect opens a connection that is closed with the test.
func connect(t *testing.T, tracker *track.Tracker, o track.ConnectOptions) *track.Connection {
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
	conn   *track.Connection
	cursor map[string]string
	roster map[string]map[string]string // topic, user, profile
	lines  []string

	lastSeen map[string]string // of the latest leave of each user
	joined   map[string]string // Since of the latest join of each user
}

func openPage(t *testing.T, tracker *track.Tracker, o track.ConnectOptions) *page {
	t.Helper()
	p := &page{t: t, conn: connect(t, tracker, o), cursor: map[string]string{}, roster: map[string]map[string]string{}, lastSeen: map[string]string{}, joined: map[string]string{}}
	return p
}

// watch opens a page of a guest in the site, where nobody is yet.
func watch(t *testing.T, tracker *track.Tracker) *page {
	t.Helper()
	p := openPage(t, tracker, track.ConnectOptions{})
	p.want("state ")
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
				p.joined[id], _ = u["since"].(string)
			}
			for id, left := range d.Leaves {
				p.lastSeen[id], _ = left["last_seen"].(string)
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

// skip takes what is pending after a moment.
func (p *page) skip() {
	p.t.Helper()
	p.settle()
	p.read()
}

// settle waits until what happened has gone its way.
func (p *page) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// idlePage is what the beat of a page says about whether somebody is at it.
func idlePage(is bool) track.Page { return track.Page{Idle: &is} }

// unknown reports whether a sighting is that of a user of whom nothing is known.
func unknown(s backend.Sighting) bool { return !s.Online && s.LastSeen.IsZero() }
