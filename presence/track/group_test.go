package track_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// woken waits for a group, and returns which of some connections are woken.
func woken(t *testing.T, g *track.Group, names map[*track.Connection]string) []string {
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
		tracker := start(t, memstore.New(), track.Config{MergeWindow: -1})
		open := func(topics ...presence.Topic) *track.Connection {
			return connect(t, tracker, track.ConnectOptions{Topics: topics, Observe: true})
		}
		a, b, both, alone := open("a"), open("b"), open("a", "b"), open("a")
		names := map[*track.Connection]string{a: "a", b: "b", both: "both", alone: "alone"}
		g := track.NewGroup()
		for _, c := range []*track.Connection{a, b, both} {
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
		step("a join in a", func() { tracker.Seen("a", user("x"), presence.Device{}) }, "a", "both")
		step("a join in b", func() { tracker.Seen("b", user("x"), presence.Device{}) }, "b", "both")
		step("nothing", func() {})
		step("a state wanted", func() { a.WantState("a") }, "a")
		step("a topic given up", func() { both.Unsubscribe("a"); tracker.Seen("a", user("y"), presence.Device{}) }, "a")
		step("a topic more", func() {
			if err := b.Subscribe(t.Context(), "a", ""); err != nil {
				t.Error(err)
			}
			b.Events(nil)
			tracker.Seen("a", user("z"), presence.Device{})
		}, "a", "b")
		step("an end", b.Close, "b")
		step("a join after it", func() { tracker.Seen("b", user("y"), presence.Device{}) }, "both")
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
		tracker := start(t, memstore.New(), track.Config{})
		g := track.NewGroup()
		for range 200 {
			c := connect(t, tracker, track.ConnectOptions{Observe: true})
			var both sync.WaitGroup
			both.Go(c.Close)
			both.Go(func() { g.Add(c) })
			both.Wait()
			if !slices.Contains(g.Woken(nil), c) {
				t.Fatal("the group was not told that the connection has ended")
			}
		}
		time.Sleep(time.Minute + 5*time.Second)
		if got := tracker.Stats().Topics; got != 0 {
			t.Errorf("got %d topics kept, want none", got)
		}
	})
}

// All who stand at the same place get the same bytes, made once.
func TestBytesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MergeWindow: -1})
		one, other := connect(t, tracker, track.ConnectOptions{Observe: true}), connect(t, tracker, track.ConnectOptions{Observe: true})
		made := 0
		form := track.NewForm(func(b []byte, e presence.Event) []byte {
			made++
			return append(append(append(b, e.ID...), e.Data...), '\n')
		})
		same := func(events, most int) {
			t.Helper()
			time.Sleep(50 * time.Millisecond)
			made = 0
			a, n, _ := one.Bytes(form)
			b, m, _ := other.Bytes(form)
			if n != events || m != events || &a[0] != &b[0] || bytes.Count(a, []byte("\n")) != events {
				t.Fatalf("got %d and %d events, %q and %q, want the same %d", n, m, a, b, events)
			}
			if made > most {
				t.Errorf("got %d events put, want %d", made, most)
			}
		}
		same(1, 1) // the state
		tracker.Seen("site", user("a"), presence.Device{})
		same(1, 1)
		for i := range 5 {
			tracker.Seen("site", user(fmt.Sprint("b", i)), presence.Device{})
			time.Sleep(10 * time.Millisecond)
		}
		same(5, 5)
		if _, _, ok := connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{"a", "b"}}).Bytes(form); ok {
			t.Error("a connection of two topics has shared bytes, want none: its ids are its own")
		}
	})
}

// The readers of a variant share the bytes of its base, but for the events that differ. Reading
// shared bytes allocates nothing.
func TestVariant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MergeWindow: -1})
		put := func(b []byte, e presence.Event) []byte { return append(append(b, e.Data...), '\n') }
		base, own := track.NewForm(put), 0
		variant := track.NewVariant(base, func(e presence.Event) bool { return !bytes.Contains(e.Data, []byte("odd")) }, func(b []byte, e presence.Event) []byte {
			own++
			if bytes.Contains(e.Data, []byte("odd")) {
				b = append(b, '!')
			}
			return put(b, e)
		})
		open := func() *track.Connection {
			return connect(t, tracker, track.ConnectOptions{Observe: true})
		}
		plain, one, other := open(), open(), open()
		read := func(events int) (shared, first, second []byte) {
			t.Helper()
			time.Sleep(50 * time.Millisecond)
			shared, n, _ := plain.Bytes(base)
			first, m, _ := one.Bytes(variant)
			second, k, alone := other.Bytes(variant)
			if n != events || m != events || k != events || !alone {
				t.Fatalf("got %d, %d and %d events, want %d", n, m, k, events)
			}
			return shared, first, second
		}
		same := func(events int) {
			t.Helper()
			if shared, first, second := read(events); &shared[0] != &first[0] || &shared[0] != &second[0] || own > 0 {
				t.Errorf("got %q, %q, %q and %d own events, want the same bytes", shared, first, second, own)
			}
		}
		same(1) // the state
		tracker.Seen("site", user("a"), presence.Device{})
		same(1)
		for _, id := range []string{"b", "odd", "c"} {
			tracker.Seen("site", user(id), presence.Device{})
			time.Sleep(10 * time.Millisecond)
		}
		shared, first, second := read(3)
		lines := strings.SplitAfter(string(shared), "\n")
		if want := lines[0] + "!" + lines[1] + lines[2]; string(first) != want || string(second) != want {
			t.Errorf("got %q and %q, want %q with the second event changed", first, second, shared)
		}
		own = 0
		tracker.Seen("site", user("d"), presence.Device{})
		same(1)
		if state, _, _ := open().Bytes(variant); state[0] != '!' {
			t.Errorf("got the state %q, which has odd, want it changed", state)
		}
		// The mutexes of the tag lockorder allocate, for each form alike.
		usual := testing.AllocsPerRun(10, func() { plain.Bytes(base) })
		if n := testing.AllocsPerRun(10, func() { one.Bytes(variant) }); n > usual {
			t.Errorf("got %v allocations of a read with nothing new, want those of the plain form, %v", n, usual)
		}
	})
}

// Bytes and Events say the same, also to who is far behind and while the log drops
// what is old.
func TestBytesAreTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{MergeWindow: -1})
		var large []backend.Op
		for i := range 30 {
			u := user(fmt.Sprint("large", i))
			u.Data = fmt.Appendf(nil, `{"n":"%4000d"}`, i)
			large = append(large, backend.Op{Kind: backend.OpJoin, User: u, Holder: "elsewhere.1", For: time.Hour})
		}
		put := func(b []byte, e presence.Event) []byte {
			return append(append(append(append(b, e.Type...), e.ID...), e.Data...), '\n')
		}
		forms := []*track.Form{track.NewForm(put), track.NewForm(put)}
		random := rand.New(rand.NewPCG(3, 4))
		var formed, plain []*track.Connection
		for range 8 {
			formed = append(formed, connect(t, tracker, track.ConnectOptions{Observe: true}))
			plain = append(plain, connect(t, tracker, track.ConnectOptions{Observe: true}))
		}
		for i := range 4000 {
			u := user(fmt.Sprint("u", random.IntN(300)))
			u.Name = strings.Repeat("n", random.IntN(1000)) // the log holds a megabyte
			if i == 3995 {                                  // one event is larger than a piece
				noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: "site", Ops: large}})[0].Err)
			} else {
				tracker.Seen("site", u, presence.Device{})
			}
			time.Sleep(5 * time.Millisecond)
			synctest.Wait() // for the figures, which come at the same moment now and then
			who := random.IntN(len(formed))
			if who > 0 && random.IntN(50) > 0 && i < 3990 {
				continue // only the first keeps up
			}
			var got, want []byte
			for piece, n, _ := formed[who].Bytes(forms[who%2]); n > 0; piece, n, _ = formed[who].Bytes(forms[who%2]) {
				if n > 1 && len(piece) > 64<<10 || n != bytes.Count(piece, []byte("\n")) {
					t.Errorf("got %d events in %d bytes at once, want 64 KiB at most", n, len(piece))
				}
				got = append(got, piece...)
			}
			for events := plain[who].Events(nil); len(events) > 0; events = plain[who].Events(nil) {
				for _, e := range events {
					want = put(want, e)
				}
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%d: got %d bytes, want %d", i, len(got), len(want))
			}
		}
	})
}

// A reader far behind is served in pieces, in order and without a gap.
func TestPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{MergeWindow: -1})
		p := openPage(t, tracker, track.ConnectOptions{Observe: true})
		p.read()
		for i := range 900 { // each is a diff, as from another node
			stepIn(t, store, presence.Site, backend.Op{Kind: backend.OpJoin, User: user(fmt.Sprint("u", i)), Holder: "elsewhere.1", For: time.Hour})
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

// A slowBus is a store whose diffs take a while to the nodes.
type slowBus struct{ backend.Store }

const busDelay = 100 * time.Millisecond

func (s slowBus) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	told := w.Diff
	w.Diff = func(d backend.Diff) { time.AfterFunc(busDelay, func() { told(d) }) }
	return s.Store.Watch(ctx, topic, w)
}

// Who waits for its own join hears of it, also behind other changes.
func TestJoinIsSeenBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, slowBus{memstore.New()}, track.Config{MergeWindow: -1})
		connect(t, tracker, track.ConnectOptions{Observe: true}) // the topic is loaded
		begin := time.Now()
		for i := range 3 {
			time.AfterFunc(time.Duration(i)*busDelay/4, func() { tracker.Seen(presence.Site, user(fmt.Sprint("other", i)), presence.Device{}) })
		}
		time.Sleep(busDelay * 3 / 4)
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		if took := time.Since(begin); took < busDelay*7/4 || took > 2*busDelay {
			t.Errorf("alice was connected after %v, want %v or a little more", took, busDelay*7/4)
		}
		view, err := tracker.View(t.Context(), presence.Site)
		noError(t, err)
		if _, ok := view.Member("alice"); !ok {
			t.Error("alice is connected and not in the roster")
		}
	})
}

// Readers who come and go while nothing happens leave nothing behind.
func TestQuietTopicKeepsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		held := func() int64 {
			for range 4000 {
				c, err := tracker.Connect(t.Context(), track.ConnectOptions{Topics: []presence.Topic{presence.Site}, Observe: true})
				noError(t, err)
				c.Close()
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		if before := held(); held()-before > 400<<10 {
			t.Errorf("4,000 readers who have gone left more than 100 bytes each")
		}
	})
}
