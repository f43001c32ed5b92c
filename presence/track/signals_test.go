package track_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

const thread presence.Topic = "thread:1"

// A signalData is one signal of an event.
type signalData struct {
	Type, From, Name string
	V                int
	For              float64
	Data             json.RawMessage
}

func (s signalData) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %v %s", s.Type, s.From, s.For, s.Data))
}

// A hearer reads a connection, and keeps its signals apart from its other events.
type hearer struct {
	t      *testing.T
	conn   *track.Connection
	events []presence.Event
}

func hear(t *testing.T, tracker *track.Tracker, o track.ConnectOptions) *hearer {
	t.Helper()
	if o.Topics == nil {
		o.Topics = []presence.Topic{thread}
	}
	return &hearer{t: t, conn: connect(t, tracker, o)}
}

// read takes what is pending: the types of the events, with signals spelled out.
func (h *hearer) read() (lines []string) {
	h.t.Helper()
	for range 5 { // a reader that is behind gets it in parts
		h.events = h.conn.Events(nil)
		for _, e := range h.events {
			if e.Type != presence.EventSignal {
				lines = append(lines, string(e.Type))
				continue
			}
			var data struct {
				Topic   string
				Signals []signalData
			}
			if err := json.Unmarshal(e.Data, &data); err != nil || data.Topic != string(e.Topic) {
				h.t.Fatalf("got %s (%v), want a signal event of %s", e.Data, err, e.Topic)
			}
			if e.ID != "" {
				h.t.Errorf("got the id %q for a signal, want none", e.ID)
			}
			lines = append(lines, "signal "+strings.Trim(fmt.Sprint(data.Signals), "[]"))
		}
	}
	return lines
}

func (h *hearer) want(lines ...string) {
	h.t.Helper()
	time.Sleep(120 * time.Millisecond)
	synctest.Wait()
	if got := strings.Join(h.read(), "; "); got != strings.Join(lines, "; ") {
		h.t.Errorf("got events %q, want %q", got, strings.Join(lines, "; "))
	}
}

// quiet reads what came until now.
func (h *hearer) quiet() {
	h.t.Helper()
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
	h.read()
}

func typing(d time.Duration) presence.Signal { return presence.Signal{Type: "typing", For: d} }

func whisper(t *testing.T, tracker *track.Tracker, id string, s presence.Signal) {
	t.Helper()
	if err := tracker.Whisper(t.Context(), visitor(id), thread, s); err != nil {
		t.Errorf("a whisper of %s: got %v, want none", id, err)
	}
}

func figure(n int) presence.Signal {
	return presence.Signal{Type: "replies", Data: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// TestSignalsOfFleet: who reads a topic hears a signal on every node, once, with the cursor that
// stands and no id (S4).
func TestSignalsOfFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		bob, eve := hear(t, a, track.ConnectOptions{Visitor: visitor("bob")}), hear(t, b, track.ConnectOptions{})
		other := hear(t, b, track.ConnectOptions{Topics: []presence.Topic{"thread:2"}})
		both := hear(t, b, track.ConnectOptions{Topics: []presence.Topic{thread, "thread:2"}})
		for _, h := range []*hearer{bob, eve, other, both} {
			h.quiet()
		}
		cursor := eve.conn.Cursor()
		whisper(t, b, "bob", typing(6*time.Second)) // from any node
		for _, h := range []*hearer{bob, eve, both} {
			h.want("signal typing bob 6")
		}
		other.want()
		if got := eve.conn.Cursor(); got != cursor {
			t.Errorf("got the cursor %q after a signal, want %q", got, cursor)
		}
		noError(t, a.Signal(thread, figure(17)))
		eve.want(`signal replies  0 {"n":17}`)
		if got, want := a.Stats().Signals, (track.SignalStats{Site: 1}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// TestSignalsOfUnseen: S1. Whom others do not see in the topic says nothing there, whichever way.
func TestSignalsOfUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{Kinds: map[string]presence.Kind{"hall": {CountOnly: true}}})
		eve := hear(t, tracker, track.ConnectOptions{Visitor: visitor("eve")})
		hall := hear(t, tracker, track.ConnectOptions{Visitor: visitor("eve"), Topics: []presence.Topic{"hall"}})
		hear(t, tracker, track.ConnectOptions{Visitor: visitor("watcher"), Observe: true})
		hear(t, tracker, track.ConnectOptions{Visitor: visitor("ghost")})
		noError(t, tracker.SetStatus(t.Context(), "ghost", presence.Invisible))
		eve.quiet()
		hall.quiet()
		for _, tt := range []struct {
			id    string
			topic presence.Topic
			want  error
		}{
			{"ghost", thread, presence.ErrNotThere},
			{"watcher", thread, presence.ErrNotThere},
			{"nobody", thread, presence.ErrNotThere},
			{"eve", "hall", presence.ErrNotThere},
			{"eve", "@people", presence.ErrNotThere},
			{"", thread, presence.ErrGuest},
		} {
			if err := tracker.Whisper(t.Context(), visitor(tt.id), tt.topic, typing(time.Second)); !errors.Is(err, tt.want) {
				t.Errorf("%q in %s: got %v, want %v", tt.id, tt.topic, err, tt.want)
			}
		}
		// Nor by another node, which may believe otherwise.
		for _, topic := range []presence.Topic{thread, "hall"} {
			ids := []string{"ghost", "nobody"}
			if topic == "hall" { // where eve is, and nobody is named
				ids = append(ids, "eve")
			}
			for _, id := range ids {
				data := fmt.Appendf(nil, `!1{"signals":[{"type":"typing","v":1,"from":%q,"for":6}]}`, id)
				noError(t, store.Send(t.Context(), backend.Broadcast{Topic: topic, Data: data}))
			}
		}
		eve.want()
		hall.want()
		if got := tracker.Stats().Signals.Unseen; got != 5 {
			t.Errorf("got %d unseen, want 5", got)
		}
	})
}

// TestSignalsOfSomebodyElse: S6. From is the visitor.
func TestSignalsOfSomebodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		eve := hear(t, tracker, track.ConnectOptions{Visitor: visitor("eve")})
		bob := hear(t, tracker, track.ConnectOptions{Visitor: visitor("bob")})
		eve.quiet()
		bob.quiet()
		s := typing(6 * time.Second)
		s.From = "bob"
		whisper(t, tracker, "eve", s)
		bob.want("signal typing eve 6")
	})
}

// TestSignalsMerge: S2. Within a window the latest of a type and sender counts, and there are 20
// events a second at most.
func TestSignalsMerge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		nodes := []*track.Tracker{start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})}
		eve := hear(t, nodes[0], track.ConnectOptions{Visitor: visitor("eve")})
		eve.quiet()
		events, last := 0, ""
		for i := range 1000 { // a second
			noError(t, nodes[i%2].Signal(thread, figure(i)))
			time.Sleep(time.Millisecond)
			for _, line := range eve.read() {
				events, last = events+1, line
			}
		}
		if events > 21 || events < 15 {
			t.Errorf("got %d events in a second, want 20", events)
		}
		time.Sleep(200 * time.Millisecond)
		if got := eve.read(); len(got) > 0 {
			last = got[len(got)-1]
		}
		if want := `signal replies  0 {"n":999}`; last != want && last != strings.Replace(want, "999", "998", 1) {
			t.Errorf("got %q at last, want %q or that of the other node", last, want)
		}
	})
}

// TestSignalsStand: S5. A signal that stands is told to who comes later, and ends by a word, by
// its time, or by its sender's leave, whichever comes first.
func TestSignalsStand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b", Grace: -1})
		eve := hear(t, a, track.ConnectOptions{})
		bob := hear(t, b, track.ConnectOptions{Visitor: visitor("bob")})
		eve.quiet()
		bob.quiet()

		whisper(t, b, "bob", typing(6*time.Second))
		eve.want("signal typing bob 6")
		time.Sleep(2*time.Second - 120*time.Millisecond)
		late := hear(t, a, track.ConnectOptions{})
		if got := strings.Join(late.read(), "; "); !strings.HasPrefix(got, "state; signal typing bob 4") {
			t.Errorf("who came after 2 s got %q, want a state and what stands, with the rest of its time", got)
		}
		resumed := hear(t, a, track.ConnectOptions{Cursor: eve.conn.Cursor()})
		if got := strings.Join(resumed.read(), "; "); !strings.HasPrefix(got, "heartbeat; signal typing bob 4") {
			t.Errorf("who resumed got %q, want what stands", got)
		}
		puller := hear(t, a, track.ConnectOptions{PullStanding: true})
		puller.want("state")
		if got := puller.conn.Standing(nil); len(got) != 1 || got[0].Type != presence.EventSignal {
			t.Errorf("got %v, want the event of what stands", got)
		}
		if got := a.Standing(thread); len(got) != 1 || got[0].From != "bob" || got[0].For > 4*time.Second {
			t.Errorf("got %v, want that bob is typing", got)
		}

		eve.quiet()
		time.Sleep(4 * time.Second)
		eve.want("signal typing bob -1") // by its time
		if got := a.Standing(thread); len(got) != 0 {
			t.Errorf("got %v, want nothing after its time", got)
		}

		whisper(t, b, "bob", typing(6*time.Second))
		eve.want("signal typing bob 6")
		time.Sleep(5 * time.Second)
		whisper(t, b, "bob", typing(6*time.Second)) // still
		eve.want("signal typing bob 6")
		time.Sleep(5 * time.Second)
		eve.want()
		whisper(t, b, "bob", typing(-time.Second)) // by a word
		eve.want("signal typing bob -1")
		time.Sleep(10 * time.Second)
		eve.want()

		whisper(t, b, "bob", typing(30*time.Second))
		eve.want("signal typing bob 30")
		bob.conn.Close() // by the leave
		time.Sleep(2 * time.Second)
		eve.want("diff")
		hear(t, b, track.ConnectOptions{Visitor: visitor("bob")})
		eve.want("diff")
		hear(t, a, track.ConnectOptions{}).want("state")
		time.Sleep(30 * time.Second)
		eve.want()
	})
}

// TestSignalsWaitForDiff: a signal never comes before the diff that tells its sender, and hurries
// none (S4).
func TestSignalsWaitForDiff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MergeWindow: time.Second})
		eve := hear(t, tracker, track.ConnectOptions{})
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("amy"), Topics: []presence.Topic{thread}})
		eve.quiet()
		go func() { // Connect waits for the diff
			if c, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{thread}}); err == nil {
				t.Cleanup(c.Close)
			}
		}()
		time.Sleep(50 * time.Millisecond)
		whisper(t, tracker, "bob", typing(6*time.Second))
		eve.want()
		time.Sleep(time.Second)
		eve.want("diff", "signal typing bob 6")
	})
}

// TestSignalsOfStoreOut: S7. Without the store signals are dropped and counted, and no page waits.
func TestSignalsOfStoreOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		eve := hear(t, tracker, track.ConnectOptions{})
		eve.quiet()
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.CallSend)
		noError(t, tracker.Signal(thread, figure(1)))
		eve.want()
		if got := tracker.Stats().Signals.Unsent; got != 1 {
			t.Errorf("got %d unsent, want 1", got)
		}
		faults.Break(presencetest.Fault{Hang: true}, presencetest.CallSend)
		for n := range 300 {
			time.Sleep(10 * time.Millisecond)
			noError(t, tracker.Signal(thread, figure(n)))
		}
		faults.Heal()
		time.Sleep(2 * time.Second)
		eve.read() // at most the latest of a second
		noError(t, tracker.Signal(thread, figure(7)))
		eve.want(`signal replies  0 {"n":7}`)
	})
}

// A lateStore hands each broadcast on as late as it is told to, as one that hangs does.
type lateStore struct {
	backend.Store
	late atomic.Int64
}

func (s *lateStore) Send(ctx context.Context, broadcasts ...backend.Broadcast) error {
	if late := time.Duration(s.late.Load()); late > 0 {
		time.AfterFunc(late, func() { _ = s.Store.Send(context.Background(), broadcasts...) })
		return errDown
	}
	return s.Store.Send(ctx, broadcasts...)
}

// A signal that a store hands on long after it was sent is not shown, whether or not one came
// before it. Signals go on as before afterwards.
func TestSignalThatComesLate(t *testing.T) {
	for name, first := range map[string]bool{"the first": true, "a later one": false} {
		bubble(t, name, func(t *testing.T) {
			store := &lateStore{Store: memstore.New()}
			a, b := start(t, store, track.Config{}), start(t, store, track.Config{})
			reader := hear(t, b, track.ConnectOptions{})
			reader.want("state")
			replies := func(n int) {
				noError(t, a.Signal(thread, presence.Signal{Type: "replies", Data: fmt.Append(nil, n)}))
			}
			if !first {
				replies(1)
				reader.want("signal replies  0 1")
			}
			for _, late := range []time.Duration{20 * time.Second, 4 * time.Second} {
				store.late.Store(int64(late))
				replies(2)
				time.Sleep(late / 4) // of two that are far apart the second would show a clock that was set anew
				replies(3)
				time.Sleep(time.Second) // it is sent
				store.late.Store(0)
				time.Sleep(2 * late)
				reader.want()
				replies(4)
				reader.want("signal replies  0 4")
			}
			if got := b.Stats().Signals.Late; got != 4 {
				t.Errorf("got %d late ones counted, want 4", got)
			}
		})
	}
}
