package track_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// An event comes again with the same ID, after 1 s, 2 s, 4 s …, whether the program returns an error or panics. Later
// ones of its user wait for it. Events of other users do not.
func TestDeliverRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tracker := newProgram(t, memstore.New(), deliver.Options{})
		var ids, tries []string
		began := time.Now()
		p.fails(func(d deliver.Event) error {
			if d.User.ID != "alice" {
				return nil
			}
			ids, tries = append(ids, d.ID), append(tries, fmt.Sprint(d.Try, " after ", time.Since(began).Round(time.Second)))
			switch broken := time.Since(began) < 45*time.Second; {
			case broken && d.Try%2 == 0:
				panic("the program is broken")
			case broken:
				return errors.New("the program's database is out")
			}
			return nil
		})
		alice := in(t, tracker, "alice")
		time.Sleep(500 * time.Millisecond)
		alice.goes(tracker, "alice")
		bob := in(t, tracker, "bob")
		p.want(2*time.Second, "+bob")
		bob.conn.Close()
		p.want(40*time.Second, "-bob")
		p.want(time.Minute, "+alice -alice")
		want := "1 after 0s, 2 after 1s, 3 after 3s, 4 after 7s, 5 after 15s, 6 after 31s, 7 after 1m3s, 1 after 1m3s"
		if got := strings.Join(tries, ", "); got != want {
			t.Errorf("got tries %s, want %s", got, want)
		}
		if slices.Sort(ids[:7]); ids[0] != ids[6] || ids[7] == ids[0] {
			t.Errorf("got the IDs %v, want one of the join and one of the leave", ids)
		}
		if got := statsOf(tracker); got.Failed != 6 || got.Repeated != 6 || got.Dropped != 0 || got.Told != 4 {
			t.Errorf("got %+v, want 6 failed and repeated, and 4 told", got)
		}
	})
}

// The program may say when an event comes again, and that it is given up. Of a user who is erased none comes again.
func TestDeliverRetryInAndGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tracker := newProgram(t, memstore.New(), deliver.Options{})
		p.fails(func(d deliver.Event) error {
			switch {
			case d.User.ID == "alice" && d.Try == 1, d.User.ID == "carol":
				return fmt.Errorf("wrapped: %w", deliver.RetryIn(5*time.Minute, errors.New("later")))
			case d.User.ID == "bob":
				return fmt.Errorf("wrapped: %w", deliver.GiveUp(errors.New("never")))
			}
			return nil
		})
		in(t, tracker, "alice")
		in(t, tracker, "bob")
		in(t, tracker, "carol")
		time.Sleep(time.Second)
		noError(t, tracker.Erase(t.Context(), "carol"))
		p.want(4*time.Minute+50*time.Second, "!") // the log that named carol is gone
		p.want(20*time.Second, "+alice")
		if got := statsOf(tracker); got.Told != 2 || got.Dropped != 1 || got.Failed != 3 || got.Backlog != 0 {
			t.Errorf("got %+v, want a gap and a join told, and one dropped", got)
		}
	})
}

// A program that hangs delays no other consumer, and with a second lane no other user. Its
// node goes on holding it.
func TestDeliverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, tracker := newProgram(t, memstore.New(), deliver.Options{Lanes: 2})
		hang := make(chan struct{})
		slow.fails(func(d deliver.Event) error {
			if d.User.ID == "alice" {
				<-hang
			}
			return nil
		})
		other := &program{t: t, name: "other"}
		other.deliver("a", tracker, deliver.Options{})
		time.Sleep(begins)
		alice := in(t, tracker, "alice")
		in(t, tracker, "bob")
		time.Sleep(time.Minute)
		alice.conn.Close()
		time.Sleep(time.Minute)
		slow.want(0, "+bob")
		other.want(0, "+alice +bob -alice")
		if got := statsOf(tracker); got.Backlog != 2 || got.Oldest < 110*time.Second || got.Oldest > 125*time.Second {
			t.Errorf("got %+v, want two that wait, for two minutes", got)
		}
		close(hang)
		slow.want(time.Second, "+alice -alice")
		if got := statsOf(tracker); got.Backlog != 0 || got.Oldest != 0 {
			t.Errorf("got %+v, want nothing that waits", got)
		}
	})
}

// What waits is bounded, in memory and in the store: the oldest events go, and a gap is told
// in their place.
func TestDeliverBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p, tracker := newProgram(t, store, deliver.Options{Most: 10})
		p.fails(func(deliver.Event) error { return errors.New("out") })
		for i := range 50 {
			in(t, tracker, fmt.Sprintf("u%02d", i))
			time.Sleep(time.Second)
		}
		if got := statsOf(tracker).Backlog; got != 10 {
			t.Errorf("got %d events that wait, want 10", got)
		}
		if got := len(record(t, store, "e/")); got != 10 {
			t.Errorf("got %d events in the store, want 10", got)
		}
		p.fails(nil)
		time.Sleep(2 * time.Minute)
		got := strings.Fields(p.read())
		if len(got) != 10 || !strings.Contains(strings.Join(got, " "), "!") || strings.Contains(strings.Join(got, " "), "+u40") {
			t.Errorf("got %v, want a gap and the last nine joins", got)
		}
		if got := statsOf(tracker); got.Dropped != 41 || got.Gaps != 1 {
			t.Errorf("got %+v, want 41 dropped and one gap", got)
		}
	})
}

// A program that was not running for long is told of a gap, and of the difference: users
// who stayed are not mentioned.
func TestDeliverGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p, tracker := newProgram(t, store, deliver.Options{})
		in(t, tracker, "stays")
		time.Sleep(10 * time.Millisecond)
		goes := in(t, tracker, "goes")
		p.want(begins, "+stays +goes")
		p.stop()
		goes.conn.Close()
		time.Sleep(20 * time.Second)
		seen := time.Now()
		churnStore(t, store, 1100)
		in(t, tracker, "comes")
		time.Sleep(time.Minute)
		p.deliver("a", tracker, deliver.Options{})
		p.want(5*time.Second, "! +comes")
		time.Sleep(32 * time.Second) // the nodes have renewed every lease
		if all := p.all(); len(all) != 1 || all[0].LastSeen.After(seen) {
			t.Errorf("got %+v, want a leave with the moment of the store", all)
		}
		p.want(0, "-goes")
		if got := statsOf(tracker).Gaps; got != 1 {
			t.Errorf("got %d gaps, want 1", got)
		}
	})
}

// churnStore makes diffs, so that a log no longer reaches back.
func churnStore(t *testing.T, store backend.Store, diffs int) {
	t.Helper()
	for i := range diffs {
		op := backend.Op{Kind: backend.OpJoin, User: user("churns"), Holder: "x.1", For: time.Minute}
		if i%2 > 0 {
			op.Kind, op.For = backend.OpRelease, 0
		}
		noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{op}}})[0].Err)
	}
}

// Calls that cannot be are refused, and a tracker that closes ends Deliver.
func TestDeliverRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		fn := func(context.Context, deliver.Event) error { return nil }
		over, cancel := context.WithCancel(t.Context())
		cancel()
		refuses := func(name string, most int, want error, topics ...presence.Topic) {
			t.Helper()
			if err := tracker.Deliver(over, name, topics, deliver.Options{MaxTopics: most}, fn); !errors.Is(err, want) {
				t.Errorf("%q, %q, MaxTopics %d: got %v, want %v", name, topics, most, err, want)
			}
		}
		for _, name := range []string{"", "a b", strings.Repeat("x", 65), "ä"} {
			refuses(name, 0, presence.ErrInvalidConfig, "site")
		}
		refuses("program", 0, presence.ErrInvalidConfig)
		for _, topic := range []presence.Topic{"a b", "*", ":*", "thread:4*", "thread:*:*", "a:b:*", "a b:*", "@devices:*", "acme/:*", "ACME/thread:*", deliver.AllOf(strings.Repeat("a", 128))} {
			refuses("program", 0, presence.ErrInvalidTopic, topic)
		}
		for _, topic := range []presence.Topic{"site", deliver.AllOf(strings.Repeat("a", 127)), "acme/thread:*"} {
			refuses("program", -1, context.Canceled, topic)
		}
		refuses("program", 10_000, context.Canceled, allThreads...)
		refuses("program", 10_001, presence.ErrInvalidConfig, allThreads...)
		p, tracker := newProgram(t, memstore.New(), deliver.Options{}, "site", "site")
		noError(t, tracker.Close(t.Context()))
		p.stop() // it has returned ErrClosed
		if err := tracker.Deliver(t.Context(), "program", allThreads, deliver.Options{}, fn); !errors.Is(err, presence.ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
	})
}

// While the store is out nobody is told anything twice, and what happened is told after.
func TestDeliverOutage(t *testing.T) {
	for name, fault := range map[string]presencetest.Fault{
		"fails":       {Err: errDown},
		"hangs":       {Hang: true},
		"loses calls": {Err: errDown, Landed: true},
	} {
		bubble(t, name, func(t *testing.T) {
			faults := presencetest.NewFaults(memstore.New())
			p, tracker := newProgram(t, faults, deliver.Options{})
			alice := in(t, tracker, "alice")
			in(t, tracker, "stays")
			p.want(begins, "+alice +stays")
			faults.Break(fault)
			time.Sleep(20 * time.Second)
			alice.conn.Close()
			in(t, tracker, "bob")
			time.Sleep(20 * time.Second)
			faults.Heal()
			time.Sleep(time.Minute)
			if got := p.read(); got != "+bob -alice" && got != "-alice +bob" {
				t.Errorf("got %q, want the join of bob and the leave of alice", got)
			}
		})
	}
}

// A node that cannot reach the store stops calling the program before another one may: the
// context of a call ends.
func TestDeliverCutsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, quiet)
		cut := make(chan time.Time, 10)
		go tracker.Deliver(t.Context(), "program", []presence.Topic{presence.Site}, deliver.Options{}, func(ctx context.Context, _ deliver.Event) error {
			<-ctx.Done()
			cut <- time.Now()
			return ctx.Err()
		})
		in(t, tracker, "alice")
		time.Sleep(time.Minute)
		out := time.Now()
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(time.Minute)
		if took := (<-cut).Sub(out); took < 3*time.Second || took >= 6*time.Second {
			t.Errorf("the call was cut after %v, want before 6s", took)
		}
		faults.Heal()
	})
}
