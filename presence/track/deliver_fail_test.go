package track_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A try is one call of a consumer's function.
type try struct {
	id   string
	when time.Duration
	n    int
}

// An event comes again with the same ID, after 1 s, 2 s, 4 s …, and later ones of its user
// wait for it. Events of other users do not.
func TestDeliverRepeats(t *testing.T) {
	for name, fails := range map[string]func(){
		"error": func() {},
		"panic": func() { panic("the program is broken") },
	} {
		bubble(t, name, func(t *testing.T) {
			tracker := start(t, memstore.New(), quiet)
			p := &program{t: t}
			var tries []try
			began := time.Now()
			var broken atomic.Bool
			broken.Store(true)
			p.fail = func(d deliver.Event) error {
				if d.User.ID != "alice" {
					return nil
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				tries = append(tries, try{d.ID, time.Since(began).Round(time.Second), d.Try})
				if broken.Load() {
					fails()
					return errors.New("the program's database is out")
				}
				return nil
			}
			p.deliver("a", tracker, deliver.Options{})
			time.Sleep(begins)
			began = time.Now()
			alice := in(t, tracker, "alice")
			time.Sleep(500 * time.Millisecond)
			alice.goes(tracker, "alice")
			bob := in(t, tracker, "bob")
			p.want(2*time.Second, "+bob")
			bob.conn.Close()
			p.want(40*time.Second, "-bob")
			broken.Store(false)
			p.want(time.Minute, "+alice -alice")
			var when []string
			for i, try := range tries[:len(tries)-1] {
				when = append(when, try.when.String())
				if try.id != tries[0].id || try.n != i+1 {
					t.Errorf("try %d: got %+v, want the ID of the first and its number", i, try)
				}
			}
			if got, want := strings.Join(when, " "), "0s 1s 3s 7s 15s 31s 1m3s"; got != want {
				t.Errorf("got tries after %s, want %s", got, want)
			}
			if last := tries[len(tries)-1]; last.id == tries[0].id || last.n != 1 {
				t.Errorf("got %+v of the leave, want another ID", last)
			}
			if got := tracker.Stats().Deliveries["program"]; got.Failed != 6 || got.Repeated != 6 || got.Dropped != 0 || got.Told != 4 {
				t.Errorf("got %+v, want 6 failed and repeated, and 4 told", got)
			}
		})
	}
}

// The program may say when an event comes again, and that it is given up.
func TestDeliverRetryInAndGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		p := &program{t: t}
		tries := make(map[presence.UserID]int)
		p.fail = func(d deliver.Event) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			tries[d.User.ID]++
			switch {
			case d.User.ID == "alice" && d.Try == 1:
				return fmt.Errorf("wrapped: %w", deliver.RetryIn(5*time.Minute, errors.New("later")))
			case d.User.ID == "bob":
				return fmt.Errorf("wrapped: %w", deliver.GiveUp(errors.New("never")))
			}
			return nil
		}
		p.deliver("a", tracker, deliver.Options{})
		in(t, tracker, "alice")
		in(t, tracker, "bob")
		p.want(4*time.Minute+50*time.Second, "")
		p.mu.Lock()
		if tries["alice"] != 1 || tries["bob"] != 1 {
			t.Errorf("got %v tries, want one of each", tries)
		}
		p.mu.Unlock()
		p.want(20*time.Second, "+alice")
		if got := tracker.Stats().Deliveries["program"]; got.Told != 1 || got.Dropped != 1 || got.Failed != 2 || got.Backlog != 0 {
			t.Errorf("got %+v, want one told and one dropped", got)
		}
	})
}

// A program that hangs delays no other consumer, and with a second lane no other user. Its
// node goes on holding it.
func TestDeliverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		slow, other := &program{t: t}, &program{t: t, name: "other"}
		hang := make(chan struct{})
		slow.fail = func(d deliver.Event) error {
			if d.User.ID == "alice" {
				<-hang
			}
			return nil
		}
		slow.deliver("a", tracker, deliver.Options{Lanes: 2})
		other.deliver("a", tracker, deliver.Options{})
		time.Sleep(begins)
		alice := in(t, tracker, "alice")
		in(t, tracker, "bob")
		time.Sleep(time.Minute)
		alice.conn.Close()
		time.Sleep(time.Minute)
		slow.want(0, "+bob")
		other.want(0, "+alice +bob -alice")
		if got := tracker.Stats().Deliveries["program"]; got.Backlog != 2 || got.Oldest < 110*time.Second || got.Oldest > 125*time.Second {
			t.Errorf("got %+v, want two that wait, for two minutes", got)
		}
		close(hang)
		slow.want(time.Second, "+alice -alice")
		if got := tracker.Stats().Deliveries["program"]; got.Backlog != 0 || got.Oldest != 0 {
			t.Errorf("got %+v, want nothing that waits", got)
		}
	})
}

// What waits is bounded, in memory and in the store: the oldest events go, and a gap is told
// in their place.
func TestDeliverBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, quiet)
		p := &program{t: t}
		var broken atomic.Bool
		broken.Store(true)
		p.fail = func(deliver.Event) error {
			if broken.Load() {
				return errors.New("out")
			}
			return nil
		}
		p.deliver("a", tracker, deliver.Options{Most: 10})
		time.Sleep(begins)
		for i := range 50 {
			in(t, tracker, fmt.Sprintf("u%02d", i))
			time.Sleep(time.Second)
		}
		if got := tracker.Stats().Deliveries["program"].Backlog; got != 10 {
			t.Errorf("got %d events that wait, want 10", got)
		}
		if got := len(record(t, store, "e/")); got != 10 {
			t.Errorf("got %d events in the store, want 10", got)
		}
		broken.Store(false)
		time.Sleep(2 * time.Minute)
		got := strings.Fields(p.read())
		if len(got) != 10 || !strings.Contains(strings.Join(got, " "), "!") || strings.Contains(strings.Join(got, " "), "+u40") {
			t.Errorf("got %v, want a gap and the last nine joins", got)
		}
		if got := tracker.Stats().Deliveries["program"]; got.Dropped != 41 || got.Gaps != 1 {
			t.Errorf("got %+v, want 41 dropped and one gap", got)
		}
	})
}

// A program that was not running for long is told of a gap, and of the difference: users
// who stayed are not mentioned.
func TestDeliverGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, quiet)
		p := &program{t: t}
		stop := p.deliver("a", tracker, deliver.Options{})
		in(t, tracker, "stays")
		time.Sleep(10 * time.Millisecond)
		goes := in(t, tracker, "goes")
		p.want(begins, "+stays +goes")
		stop()
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
		if got := tracker.Stats().Deliveries["program"].Gaps; got != 1 {
			t.Errorf("got %d gaps, want 1", got)
		}
	})
}

// churnStore makes diffs, so that a log no longer reaches back.
func churnStore(t *testing.T, store backend.Store, diffs int) {
	t.Helper()
	for i := range diffs {
		kind := backend.OpJoin
		if i%2 == 1 {
			kind = backend.OpDrop
		}
		r := store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
			{Kind: kind, User: user("churns"), Holder: "x.1", For: time.Minute},
		}}})
		if r[0].Err != nil {
			t.Fatal(r[0].Err)
		}
	}
}

// An empty topic whose log is gone is no gap, unless nobody held the record for long: then
// somebody may have come and left.
func TestDeliverGapWhileNobodyWasThere(t *testing.T) {
	for stopped, want := range map[time.Duration]string{10 * time.Second: "", time.Hour: "! "} {
		bubble(t, stopped.String(), func(t *testing.T) {
			store := memstore.New()
			tracker := start(t, store, quiet)
			p := &program{t: t}
			stop := p.deliver("a", tracker, deliver.Options{})
			alice := in(t, tracker, "alice")
			p.want(begins, "+alice")
			alice.conn.Close()
			p.want(time.Minute, "-alice")
			time.Sleep(time.Hour)
			stop()
			time.Sleep(stopped)
			in(t, tracker, "bob")
			p.deliver("a", tracker, deliver.Options{})
			p.want(begins, want+"+bob")
		})
	}
}

// Calls that cannot be are refused, and a tracker that closes ends Deliver.
func TestDeliverRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		fn := func(context.Context, deliver.Event) error { return nil }
		for _, tt := range []struct {
			name   string
			topics []presence.Topic
			want   error
		}{
			{"", []presence.Topic{"site"}, presence.ErrInvalidConfig},
			{"a b", []presence.Topic{"site"}, presence.ErrInvalidConfig},
			{strings.Repeat("x", 65), []presence.Topic{"site"}, presence.ErrInvalidConfig},
			{"ä", []presence.Topic{"site"}, presence.ErrInvalidConfig},
			{"program", nil, presence.ErrInvalidConfig},
			{"program", []presence.Topic{"a b"}, presence.ErrInvalidTopic},
		} {
			if err := tracker.Deliver(t.Context(), tt.name, tt.topics, deliver.Options{}, fn); !errors.Is(err, tt.want) {
				t.Errorf("%q, %q: got %v, want %v", tt.name, tt.topics, err, tt.want)
			}
		}
		ended := make(chan error, 1)
		go func() {
			ended <- tracker.Deliver(t.Context(), "program", []presence.Topic{"site", "site"}, deliver.Options{}, fn)
		}()
		time.Sleep(begins)
		noError(t, tracker.Close(t.Context()))
		if err := <-ended; !errors.Is(err, presence.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if err := tracker.Deliver(t.Context(), "program", []presence.Topic{"site"}, deliver.Options{}, fn); !errors.Is(err, presence.ErrClosed) {
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
			p, tracker := newProgram(t, faults)
			alice := in(t, tracker, "alice")
			in(t, tracker, "stays")
			p.want(begins, "+alice +stays")
			faults.Break(fault)
			time.Sleep(20 * time.Second)
			alice.conn.Close()
			in(t, tracker, "bob")
			time.Sleep(20 * time.Second)
			faults.Heal()
			got := ""
			if name == "loses calls" { // bob was told at once
				got = p.read()
			}
			time.Sleep(time.Minute)
			if got = strings.TrimSpace(got + " " + p.read()); got != "+bob -alice" && got != "-alice +bob" {
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
			select {
			case cut <- time.Now():
			default:
			}
			return ctx.Err()
		})
		in(t, tracker, "alice")
		time.Sleep(time.Minute)
		if len(cut) > 0 {
			t.Error("got a call cut while the store is there")
		}
		out := time.Now()
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(time.Minute)
		select {
		case at := <-cut:
			if took := at.Sub(out); took < 3*time.Second || took >= 6*time.Second {
				t.Errorf("the call was cut after %v, want before 6s", took)
			}
		default:
			t.Error("the call was not cut")
		}
		faults.Heal()
	})
}
