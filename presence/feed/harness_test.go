package feed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A fleet is two nodes over one presence store and one database.
type fleet struct {
	t      *testing.T
	db     *feedtest.Memory
	tardy  tardyStore            // to db
	way    *feedtest.FaultyStore // to tardy
	faults *presencetest.Faults  // of the presence store
	a, b   *node
	log    *strings.Builder
	logger *slog.Logger // writes to log, for both nodes
}

// A tardyStore returns from Heads long after a call's context has ended, as on a machine that
// is busy, while it is on.
type tardyStore struct {
	feed.Store
	on atomic.Bool
}

func (s *tardyStore) Heads(ctx context.Context, names ...feed.Name) ([]feed.Head, error) {
	if !s.on.Load() {
		return s.Store.Heads(ctx, names...)
	}
	<-ctx.Done()
	time.Sleep(2 * time.Second)
	return nil, ctx.Err()
}

type node struct {
	tracker *track.Tracker
	*feed.Keeper
}

// inFleet runs a test in a bubble.
func inFleet(t *testing.T, cfg feed.Config, test func(t *testing.T, f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, db: feedtest.NewMemory(), log: new(strings.Builder)}
		f.logger = slog.New(slog.NewTextHandler(f.log, nil))
		f.tardy.Store = f.db
		f.way = feedtest.NewFaultyStore(&f.tardy)
		f.faults = presencetest.NewFaults(memstore.New())
		f.a, f.b = f.node(f.faults, "a", cfg), f.node(f.faults, "b", cfg)
		test(t, f)
		f.a.close(t)
		f.b.close(t)
	})
}

func (f *fleet) node(store backend.Store, name string, cfg feed.Config) *node {
	f.t.Helper()
	tracker, err := track.New(store, track.Config{Node: name, Logger: f.logger})
	if err != nil {
		f.t.Fatal(err)
	}
	k, err := feed.New(f.way, tracker, cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return &node{tracker, k}
}

func (n *node) close(t *testing.T) {
	if err := n.tracker.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := n.Keeper.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// A page follows one topic.
type page struct {
	t    *testing.T
	conn *track.Connection
}

func follow(t *testing.T, n *node, user presence.UserID, topic presence.Topic, from presence.Cursor) *page {
	t.Helper()
	conn, err := n.tracker.Connect(t.Context(), track.ConnectOptions{
		Visitor: presence.Visitor{User: presence.User{ID: user}}, Topics: []presence.Topic{topic}, Cursor: from,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return &page{t, conn}
}

// An event is what tests look at in the JSON of an event.
type event struct {
	Cursor, Prev   presence.Cursor
	Unread, Unseen *int
	Items          []struct {
		ID, Text, State string
		Pos             int64
		N, Others       int
		Actors          []string
	}
	More, Stale bool
}

// read returns each new event as a line: its type and its items as id:text:state.
func (p *page) read() []string {
	p.t.Helper()
	synctest.Wait()
	var lines []string
	for _, e := range p.conn.Events(nil) {
		var v event
		if err := json.Unmarshal(e.Data, &v); err != nil {
			p.t.Fatalf("%s: %v", e.Data, err)
		}
		if v.Cursor != e.Cursor || e.ID != e.Cursor {
			p.t.Errorf("got the cursors %s, %s and %s of one event, want one", v.Cursor, e.Cursor, e.ID)
		}
		line := string(e.Type)
		if v.Unread != nil {
			line += fmt.Sprintf(" %d/%d", *v.Unread, *v.Unseen)
		}
		for _, i := range v.Items {
			line += fmt.Sprintf(" %s:%s:%s", i.ID, i.Text, i.State)
		}
		if v.More {
			line += " more"
		}
		if v.Stale {
			line += " stale"
		}
		lines = append(lines, line)
	}
	return lines
}

func (p *page) want(what string, want ...string) {
	p.t.Helper()
	if got := strings.Join(p.read(), "\n"); got != strings.Join(want, "\n") {
		p.t.Errorf("%s: got\n%s\nwant\n%s", what, got, strings.Join(want, "\n"))
	}
}

// wantWithin reads each second, as a page does, until there is an event.
func (p *page) wantWithin(d time.Duration, want string) {
	p.t.Helper()
	for began := time.Now(); time.Since(began) < d; time.Sleep(time.Second) {
		if got := p.read(); len(got) > 0 {
			if got[0] != want {
				p.t.Errorf("got %q, want %q", got, want)
			}
			return
		}
	}
	p.t.Errorf("got nothing within %v, want %q", d, want)
}

// send has a node send messages, and waits until they are in the feeds and told.
func send(t *testing.T, n *node, ms ...feed.Message) {
	t.Helper()
	if err := n.Send(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
}

func to(user presence.UserID, id, text string) feed.Message {
	return feed.Message{To: []presence.UserID{user}, ID: id, Text: text}
}
