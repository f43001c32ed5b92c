package track_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// While a window waits for its turn, a reader comes that knows more: from a state, or from another node. What it
// sees is undone before the window's turn. So nothing changes for the window's other readers, and the reader is
// told soon all the same.
func TestWindowReaderAhead(t *testing.T) {
	for _, change := range []string{"a join", "a status"} {
		for _, moved := range []bool{false, true} {
			bubble(t, fmt.Sprint(change, ", from another node ", moved), func(t *testing.T) {
				store := memstore.New()
				a, b := start(t, store, track.Config{Node: "a", MergeWindow: -1}), start(t, store, track.Config{Node: "b", MergeWindow: -1})
				history := &chronicle{t: t, rosters: make(map[string]map[string]string)}
				for _, node := range []*track.Tracker{a, b} {
					history.watch(connect(t, node, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Limit: 1000}))
				}
				come(t, store, span(0, 9)...)
				window := track.Window{Users: 2}
				first := openWindow(t, a, window, history)
				read := func(p *windowPage) {
					synctest.Wait()
					history.read()
					p.read()
				}
				time.Sleep(time.Second)
				read(first)
				come(t, store, "bob") // the window has to pay for this, and waits
				read(first)
				do, undo := func() { come(t, store, "carol") }, func() { leave(t, store, "carol") }
				if change == "a status" {
					set := func(status presence.Status) { noError(t, a.SetStatus(t.Context(), "bob", status)) }
					do, undo = func() { set(presence.Busy) }, func() { set(presence.Online) }
				}
				do()
				at := map[bool]*track.Tracker{false: a, true: b}[moved]
				ahead := openWindow(t, at, window, history)
				read(ahead)
				if fmt.Sprint(ahead.users) == fmt.Sprint(first.users) {
					t.Fatalf("both pages have %v", ahead.users)
				}
				undo()
				if moved {
					ahead.move(a)
				}
				read(ahead)
				time.Sleep(2 * time.Second)
				read(first)
				read(ahead)
				if fmt.Sprint(ahead.users) != fmt.Sprint(first.users) {
					t.Errorf("2 s later the page has %v, want %v", ahead.users, first.users)
				}
			})
		}
	}
}

// A window that waits for its turn has figures of its stage. A reader who comes from another node, and is ahead of the
// stage, is not told them: its page has one user, and the stage is of a moment when nobody was there.
func TestWindowReaderAheadIsToldNoOldTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{Node: "a", MergeWindow: 300 * time.Millisecond}), start(t, store, track.Config{Node: "b", MergeWindow: -1})
		come(t, store, span(0, 9)...)
		o := track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: track.Window{Users: 1}}
		connect(t, a, o).Events(nil)
		elsewhere := connect(t, b, o)
		leave(t, store, span(0, 9)...) // the window has to pay for this
		time.Sleep(350 * time.Millisecond)
		come(t, store, "bob")
		synctest.Wait()
		elsewhere.Events(nil)
		o.Cursor = elsewhere.Cursor()
		come(t, store, "carol") // node a publishes both at once, and its window waits
		time.Sleep(400 * time.Millisecond)
		for _, e := range connect(t, a, o).Events(nil) {
			if d := windowEvent(t, e); e.Type != presence.EventHeartbeat || d.Total != 2 {
				t.Errorf("got %s %s, want a heartbeat with a total of 2", e.Type, e.Data)
			}
		}
	})
}

// At node a two diffs came at once, and canceled out. So its view has the name of before. A page that comes from
// another node, which told it of both, is not taken back to that name: a third node would tell it of them again.
func TestWindowReaderIsNotTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{Node: "a", MergeWindow: 300 * time.Millisecond}), start(t, store, track.Config{Node: "b", MergeWindow: -1})
		come(t, store, span(0, 9)...)
		o := track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: track.Window{Users: 1}}
		whole := o
		whole.Window = track.Window{}
		connect(t, a, whole).Events(nil)
		elsewhere := connect(t, b, o)
		elsewhere.Events(nil)
		come(t, store, "bob")
		synctest.Wait()
		elsewhere.Events(nil)
		time.Sleep(3 * time.Second)
		leave(t, store, "u0") // from now on node a waits for 300 ms
		synctest.Wait()
		leave(t, store, "bob")
		synctest.Wait()
		come(t, store, "bob")
		time.Sleep(5 * time.Second) // at node a both are published, and the window at node b has its turn
		elsewhere.Events(nil)
		o.Cursor = elsewhere.Cursor()
		moved := connect(t, a, o)
		moved.Events(nil)
		if moved.Cursor() != elsewhere.Cursor() {
			t.Errorf("node a takes the page from %s to %s", elsewhere.Cursor(), moved.Cursor())
		}
	})
}

// The store loses its data, and users are restored there. Both nodes keep everybody, as of when they came before. Node b
// reads the new log later, after Alice has left and come again, and has seen none of that. A page that node a never told
// of it moves to node b, which cannot know since when the page has Alice there. It is not told that she comes.
func TestWindowReaderMovesAfterALossOfData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := start(t, store, track.Config{Node: "a", MergeWindow: -1}), start(t, slowTopicStore{store, throng}, track.Config{Node: "b", MergeWindow: -1})
		come(t, store, "bob", "alice")
		o := track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: track.Window{Users: 3}}
		connect(t, b, o)
		page := connect(t, a, o)
		page.Events(nil)
		store.goOnAs(memstore.New())
		time.Sleep(time.Second)
		come(t, store, "bob", "alice", "carol")
		var joins map[string]string
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			for _, e := range page.Events(nil) {
				joins = windowEvent(t, e).Joins
			}
			if joins["carol"] != "" { // node a has read the new log
				break
			}
		}
		if len(joins) != 1 {
			t.Fatalf("after the loss of data the page is told that %v come, want carol", joins)
		}
		o.Cursor = page.Cursor()
		page.Close()
		leave(t, store, "alice")
		come(t, store, "alice")
		time.Sleep(2 * time.Second)
		for _, e := range connect(t, b, o).Events(nil) {
			if joins := windowEvent(t, e).Joins; len(joins) > 0 {
				t.Errorf("the page is told again of %v", joins)
			}
		}
	})
}

// A slowTopicStore takes a while for the roster of a topic.
type slowTopicStore struct {
	backend.Store
	slow presence.Topic
}

func (s slowTopicStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	if topic == s.slow {
		time.Sleep(700 * time.Millisecond)
	}
	return s.Store.Snapshot(ctx, topic)
}

// A connection opens a window, and waits long for its next topic. Nobody reads the window meanwhile, and so it does not
// look when it planned to. It goes on when the connection reads.
func TestWindowOpenedLongBeforeItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slowTopicStore{memstore.New(), "zone"}
		node := start(t, store, track.Config{})
		come(t, store, span(0, 9)...)
		window := track.Window{Users: 2}
		before := connect(t, node, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: window})
		time.Sleep(time.Second)
		before.Events(nil)
		before.Close()
		leave(t, store, "u0") // for the window nothing has changed, and it looks again half a second after it is opened
		synctest.Wait()
		c := connect(t, node, track.ConnectOptions{Topics: []presence.Topic{throng, store.slow}, Observe: true, Window: window})
		c.Events(nil)
		come(t, store, "bob")
		time.Sleep(5 * time.Second)
		for _, e := range c.Events(nil) {
			if windowEvent(t, e).Joins["bob"] != "" {
				return
			}
		}
		t.Error("the page is not told that bob came")
	})
}
