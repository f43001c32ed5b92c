package track_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// pollers has accounts poll topics of a node, one poll after the other, for a while.
func pollers(t *testing.T, a *track.Tracker, accounts int, topics []presence.Topic, most, each time.Duration) {
	for began := time.Now(); time.Since(began) < most; {
		polls := make([]*track.Connection, 0, accounts)
		for i := range accounts {
			o := track.ConnectOptions{Visitor: visitor(fmt.Sprint("poller", i)), Topics: topics}
			if c, err := a.Connect(t.Context(), o); err == nil {
				polls = append(polls, c)
			} else if !errors.Is(err, presence.ErrStoreOut) {
				t.Errorf("Connect: %v", err)
			}
		}
		time.Sleep(each)
		for _, c := range polls {
			c.Close()
		}
	}
}

func sixteen() (topics []presence.Topic) {
	for i := range 15 {
		topics = append(topics, presence.Topic(fmt.Sprint("thread:", i)))
	}
	return append(topics, presence.Site)
}

// Polls that come and go while the store is out leave one operation for each user and topic, and
// one for each attempt to write that found them open.
func TestPollsInAnOutageAreBounded(t *testing.T) {
	need.Slow(t, "hours of an outage")
	const accounts = 5 // the bound is one for each
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a := start(t, faults, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler)})
		pollers(t, a, accounts, sixteen(), time.Second, 500*time.Millisecond)
		faults.Break(presencetest.Fault{Err: errDown})
		pollers(t, a, accounts, sixteen(), time.Minute, 300*time.Millisecond)
		first := a.Stats().Pending
		pollers(t, a, accounts, sixteen(), 3*time.Minute, 300*time.Millisecond)
		s := a.Stats()
		if most := accounts * 16 * (1 + 8 + 2); s.Pending > most || s.Pending > first+accounts*16*2 || s.Dropped > 0 {
			t.Errorf("got %d operations that wait after a minute, %d after two, and %d dropped, want %d at most and none", first, s.Pending, s.Dropped, most)
		}
		zoe(t, a, memory, func() { faults.Heal() })
		time.Sleep(30 * time.Second)
		if got := view(t, a).Total; got != 1 {
			t.Errorf("got %d online after the grace, want zoe", got)
		}
	})
}

// zoe views a page in an outage, and must be there within a second of its end.
func zoe(t *testing.T, a *track.Tracker, memory *memstore.Store, heal func()) time.Duration {
	t.Helper()
	a.Seen(presence.Site, user("zoe"), presence.Device{})
	time.Sleep(time.Second)
	heal()
	for healed := time.Now(); ; time.Sleep(time.Millisecond) {
		if seen, err := memory.Sightings(t.Context(), presence.Site, "zoe"); err == nil && seen[0].Online {
			return time.Since(healed)
		}
		if time.Since(healed) > time.Second {
			t.Fatal("zoe viewed a page in the outage, and is not there a second after its end")
		}
	}
}

// However many polls, the return takes as long as without them.
func TestReturnAfterPollsInAnOutage(t *testing.T) {
	need.Slow(t, "hours of an outage")
	var took []time.Duration
	for _, accounts := range []int{0, 20} {
		synctest.Test(t, func(t *testing.T) {
			memory := memstore.New()
			faults := presencetest.NewFaults(perOp{memory})
			a := start(t, faults, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler)})
			pollers(t, a, accounts, sixteen(), time.Second, 500*time.Millisecond)
			connect(t, a, track.ConnectOptions{Visitor: visitor("bob"), Topics: sixteen()})
			faults.Break(presencetest.Fault{Err: errDown})
			if accounts > 0 {
				pollers(t, a, accounts, sixteen(), time.Minute, 300*time.Millisecond)
			} else {
				time.Sleep(time.Minute)
			}
			took = append(took, zoe(t, a, memory, func() { faults.Heal() }))
			for healed := time.Now(); a.Stats().Pending > 0; time.Sleep(time.Millisecond) {
				if time.Since(healed) > 2*time.Second {
					t.Fatal("operations wait for more than two seconds after the outage: ", a.Stats().Pending)
				}
			}
		})
	}
	if took[1] > took[0]+500*time.Millisecond {
		t.Errorf("zoe is there after %v with the polls, and %v without", took[1], took[0])
	}
}

// perOp is a store that needs time for each operation, as Redis does.
type perOp struct{ *memstore.Store }

func (s perOp) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	ops := 0
	for _, b := range batches {
		ops += len(b.Ops)
	}
	select {
	case <-time.After(time.Duration(ops) * 50 * time.Microsecond):
		return s.Store.Apply(ctx, batches)
	case <-ctx.Done():
		results := make([]backend.Result, len(batches))
		for i := range results {
			results[i].Err = ctx.Err()
		}
		return results
	}
}

// While too much waits for the store, new connections of users are refused; guests, observers and
// those who were there before go on, and their ends and sign-outs are kept.
func TestConnectionsAreRefusedWhileMuchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a := start(t, faults, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler)})
		a.PendAtMost(100)
		alice := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, a, track.ConnectOptions{Visitor: visitor("bob")})
		for i := range 1000 {
			noError(t, memory.Publish(t.Context(), keeps(t, memory, presence.UserID(fmt.Sprint("v", i)), presence.Online)))
		}
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errDown})
		opened := 0
		for i := range 1000 { // nobody knows what they chose
			if _, err := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i)), Topics: []presence.Topic{presence.Site}}); err == nil {
				opened++
			} else if !errors.Is(err, presence.ErrStoreOut) {
				t.Fatalf("got %v, want ErrStoreOut", err)
			}
		}
		for i := range 1000 {
			if _, err := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor(fmt.Sprint("v", i)), Topics: []presence.Topic{presence.Site}}); err == nil {
				opened++
			} else if !errors.Is(err, presence.ErrStoreOut) {
				t.Fatalf("got %v, want ErrStoreOut", err)
			}
		}
		if opened != 200 {
			t.Errorf("%d connections were let in, want 100 that wait for what their users chose, and 100 for the store", opened)
		}
		connect(t, a, track.ConnectOptions{Visitor: presence.Visitor{Guest: "g"}})
		connect(t, a, track.ConnectOptions{Visitor: visitor("watcher"), Observe: true})
		if err := alice.Subscribe(t.Context(), "thread:1", ""); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("Subscribe: got %v, want ErrStoreOut", err)
		}
		alice.Close()
		_ = a.SignOut(t.Context(), "bob")
		faults.Heal()
		time.Sleep(20 * time.Second)
		for _, gone := range []presence.UserID{"alice", "bob"} {
			if _, there := view(t, a).Member(gone); there {
				t.Errorf("%s is there, want the end kept", gone)
			}
		}
		if got := view(t, a).Total; got != opened {
			t.Errorf("got %d online, want the %d who were let in", got, opened)
		}
		connect(t, a, track.ConnectOptions{Visitor: visitor("carol")})
	})
}

// One user's operations do not push out the page views of others.
func TestOneUserDoesNotFillTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a := start(t, faults, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler)})
		a.PendAtMost(1000)
		for _, who := range []string{"zoe", "eve"} {
			a.Seen("thread:0", user(who), presence.Device{})
		}
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(time.Second)
		for _, greedy := range []string{"eve", "mallory"} { // of mallory nobody knows what she chose
			for i := range 5000 { // each page views another topic
				a.Seen(presence.Topic(fmt.Sprint("thread:", i)), user(greedy), presence.Device{})
			}
		}
		if got := a.Stats().Pending; got > 1200 {
			t.Errorf("%d cells of two users wait, want about half of 1,000 of each at most", got)
		}
		a.Seen(presence.Site, user("yves"), presence.Device{})
		zoe(t, a, memory, faults.Heal)
		time.Sleep(5 * time.Second)
		if _, there := view(t, a).Member("yves"); !there {
			t.Error("yves, whose choice nobody knew, is not there")
		}
	})
}
