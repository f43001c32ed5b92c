package presence_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// woken waits for a group, and returns which of some connections are woken.
func woken(t *testing.T, g *presence.Group, names map[*presence.Connection]string) []string {
	t.Helper()
	synctest.Wait()
	select {
	case <-g.Ready():
	default:
		return nil
	}
	var got []string
	for _, c := range g.Woken(nil) {
		got = append(got, names[c])
		c.Events(nil)
	}
	slices.Sort(got)
	return slices.Compact(got)
}

// A group hears of those connections whose topics changed, and of no other.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{Merge: -1})
		open := func(topics ...presence.Topic) *presence.Connection {
			return connect(t, tracker, presence.ConnectOptions{Topics: topics, Observe: true})
		}
		a, b, both, alone := open("a"), open("b"), open("a", "b"), open("a")
		names := map[*presence.Connection]string{a: "a", b: "b", both: "both", alone: "alone"}
		g := presence.NewGroup()
		for _, c := range []*presence.Connection{a, b, both} {
			g.Add(c)
		}
		if got := woken(t, g, names); !slices.Equal(got, []string{"a", "b", "both"}) {
			t.Errorf("added: got %q woken, want all", got)
		}
		step := func(what string, do func(), want ...string) {
			t.Helper()
			for woken(t, g, names) != nil { // figures may follow
				time.Sleep(time.Second)
			}
			do()
			time.Sleep(10 * time.Millisecond)
			if got := woken(t, g, names); !slices.Equal(got, want) {
				t.Errorf("%s: got %q woken, want %q", what, got, want)
			}
		}
		step("a join in a", func() { tracker.Seen("a", user("x")) }, "a", "both")
		step("a join in b", func() { tracker.Seen("b", user("x")) }, "b", "both")
		step("nothing", func() {})
		step("a snapshot", func() { a.Snapshot("a") }, "a")
		step("a topic given up", func() { both.Unsubscribe("a"); tracker.Seen("a", user("y")) }, "a")
		step("a topic more", func() {
			if err := b.Subscribe(t.Context(), "a", ""); err != nil {
				t.Error(err)
			}
			b.Events(nil)
			tracker.Seen("a", user("z"))
		}, "a", "b")
		step("an end", b.Close, "b")
		step("a join after it", func() { tracker.Seen("b", user("y")) }, "both")
		select {
		case <-alone.Ready():
		default:
			t.Error("the connection outside of the group was not woken")
		}
	})
}

// A connection that ends while it is moved leaves nothing behind: its topic is
// forgotten.
func TestGroupOfTheEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{Idle: time.Second})
		g := presence.NewGroup()
		for range 200 {
			c := connect(t, tracker, presence.ConnectOptions{Observe: true})
			var both sync.WaitGroup
			both.Go(c.Close)
			both.Go(func() { g.Add(c) })
			both.Wait()
			if !slices.Contains(g.Woken(nil), c) {
				t.Fatal("the group was not told that the connection has ended")
			}
		}
		time.Sleep(5 * time.Second)
		if got := tracker.Stats().Topics; got != 0 {
			t.Errorf("got %d topics kept, want none", got)
		}
	})
}

// All who stand at the same place get the same run, and its forms are made once.
func TestRunIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{Merge: -1})
		one, other := connect(t, tracker, presence.ConnectOptions{Observe: true}), connect(t, tracker, presence.ConnectOptions{Observe: true})
		made := 0
		put := func(b []byte, e presence.Event) []byte { made++; return append(b, e.ID...) }
		same := func(events int) {
			t.Helper()
			time.Sleep(50 * time.Millisecond)
			a, _ := one.Run()
			b, _ := other.Run()
			if a == nil || a != b || a.Len() != events {
				t.Fatalf("got runs %v and %v, want the same with %d events", a, b, events)
			}
			made = 0
			if first, again := a.Form(3, put), b.Form(3, put); made != events || &first[0] != &again[0] {
				t.Errorf("a form was made with %d calls, want %d", made, events)
			}
		}
		same(1) // the state
		tracker.Seen("site", user("a"))
		same(1)
		for i := range 5 {
			tracker.Seen("site", user(fmt.Sprint("b", i)))
			time.Sleep(10 * time.Millisecond)
		}
		same(5)
		if _, ok := connect(t, tracker, presence.ConnectOptions{Topics: []presence.Topic{"a", "b"}}).Run(); ok {
			t.Error("a connection of two topics has a run, want none: its ids are its own")
		}
	})
}

// A reader far behind is served in pieces, in order and without a gap.
func TestRunIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{Merge: -1})
		p := openPage(t, tracker, presence.ConnectOptions{Observe: true})
		p.read()
		for i := range 900 {
			tracker.Seen("site", user(fmt.Sprint("u", i)))
			time.Sleep(5 * time.Millisecond)
		}
		pieces := 0
		for ; len(p.roster["site"]) < 900; pieces++ { // read holds each diff against the one before
			before := len(p.lines)
			select {
			case <-p.conn.Ready():
			default:
				t.Fatalf("not woken after %d pieces with %d users", pieces, len(p.roster["site"]))
			}
			if p.read(); len(p.lines)-before > 500 {
				t.Errorf("got a piece of %d events, want about 64 KiB: 300", len(p.lines)-before)
			}
		}
		if pieces < 2 {
			t.Errorf("got %d pieces, want several", pieces)
		}
	})
}
