package track_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestOneJoinsAndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		w := watch(t, tracker)
		alice := openPage(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		if got := alice.read(); !slices.Equal(got, []string{"state alice"}) {
			t.Errorf("the one who joins: got %q, want a state that holds herself", got)
		}
		w.want("diff +alice -")

		alice.conn.Close()
		time.Sleep(9 * time.Second)
		w.want()
		time.Sleep(2 * time.Second)
		w.want("diff + -alice")
	})
}

func TestNavigationShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		w := openPage(t, tracker, track.ConnectOptions{})
		w.want("state alice")
		for range 10 {
			tracker.Seen(presence.Site, user("alice"), presence.Device{})
			c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(4 * time.Second)
			c.Close()
			time.Sleep(time.Second)
		}
		w.want()
		time.Sleep(10 * time.Second)
		w.want("diff + -alice")
	})
}

func TestClosedTabEndsAnEarlierPageView(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after bool // a page view comes after the stream was opened
		gone  time.Duration
	}{
		{"page view before the stream", false, 11 * time.Second},
		{"page view after the stream", true, 5*time.Minute + time.Second},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			tracker := start(t, memstore.New(), track.Config{})
			w := watch(t, tracker)
			tracker.Seen(presence.Site, user("alice"), presence.Device{})
			c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
			if tc.after {
				tracker.Seen(presence.Site, user("alice"), presence.Device{})
			}
			w.want("diff +alice -")
			c.Close()
			time.Sleep(tc.gone - 3*time.Second)
			w.want()
			time.Sleep(4 * time.Second)
			w.want("diff + -alice")
		})
	}
}

func TestSlowReaderGetsAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{MergeWindow: -1})
		w := watch(t, tracker)
		for i := range 1100 { // each step is a diff, as from another node
			op := backend.Op{Kind: backend.OpJoin, User: user(fmt.Sprint("u", i%2)), Holder: "elsewhere.1", For: time.Hour}
			stepIn(t, store, presence.Site, op)
			time.Sleep(5 * time.Millisecond)
			op.Kind, op.For = backend.OpRelease, 0
			stepIn(t, store, presence.Site, op)
		}
		tracker.Seen(presence.Site, user("last"), presence.Device{})
		w.want("state last")
		tracker.Seen(presence.Site, user("more"), presence.Device{})
		w.want("diff +more -")
	})
}

func TestSignOutEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"site", "thread:1"}})
		w.want("state ", "state ")
		a.Seen(presence.Site, user("alice"), presence.Device{})
		here := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		there := connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}})
		w.want("diff +alice -", "diff +alice -")
		noError(t, a.SignOut(t.Context(), "alice"))
		for _, c := range []*track.Connection{here, there} {
			<-c.Done()
			if !errors.Is(c.Err(), presence.ErrSignedOut) {
				t.Errorf("got %v, want ErrSignedOut", c.Err())
			}
			c.Close()
		}
		w.want("diff + -alice", "diff + -alice")
		time.Sleep(time.Minute)
		w.want()
	})
}

func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		w := watch(t, tracker)
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("bob"), Beat: true}) // a machine that went to sleep
		beats := connect(t, tracker, track.ConnectOptions{Visitor: visitor("carol"), Beat: true})
		w.want("diff +alice -", "diff +bob -", "diff +carol -")
		for range 20 {
			time.Sleep(15 * time.Second)
			if !beats.Beat() {
				t.Fatal("got false from Beat of an open connection, want true")
			}
		}
		w.want("diff + -bob")
	})
}

func TestConnectionsOfDifferentNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := start(t, store, track.Config{})
		b := start(t, store, track.Config{})
		w := watch(t, b)
		onA := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		onB := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		if onA.ID() == onB.ID() {
			t.Errorf("two nodes gave one id: %q", onA.ID())
		}
		w.want("diff +alice -")
		onA.Close()
		time.Sleep(time.Minute)
		w.want()
		onB.Close()
		time.Sleep(time.Minute)
		w.want("diff + -alice")
	})
}

func TestCloseReleasesWithGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, err := track.New(store, track.Config{})
		noError(t, err)
		b := start(t, store, track.Config{})
		w := watch(t, b)
		comes, _ := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"site"}})
		goes, _ := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{"site"}})
		w.want("diff +alice -", "diff +bob -")
		noError(t, a.Close(t.Context()))
		for _, c := range []*track.Connection{comes, goes} {
			if <-c.Done(); !errors.Is(c.Err(), presence.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", c.Err())
			}
		}
		if _, err := a.Connect(t.Context(), track.ConnectOptions{Topics: []presence.Topic{"site"}}); !errors.Is(err, presence.ErrClosed) {
			t.Errorf("Connect after Close: got %v, want ErrClosed", err)
		}
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(15 * time.Second)
		w.want("diff + -bob")
	})
}

func TestGuestsAndRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		for i := range 20 {
			tracker.SeenGuest(presence.Site, fmt.Sprint("g", i))
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
		}
		connect(t, tracker, track.ConnectOptions{Visitor: presence.Visitor{Guest: "g1"}})
		connect(t, tracker, track.ConnectOptions{Visitor: presence.Visitor{Guest: "streams"}})
		connect(t, tracker, track.ConnectOptions{Visitor: presence.Visitor{Guest: "observes"}, Observe: true})
		want := func(total, guests, recent int) {
			t.Helper()
			time.Sleep(time.Second)
			v, err := tracker.View(t.Context(), presence.Site)
			noError(t, err)
			if v.Total != total || v.Guests != guests || v.Recent != recent {
				t.Errorf("got %d online, %d guests, %d recent, want %d, %d, %d", v.Total, v.Guests, v.Recent, total, guests, recent)
			}
		}
		want(20, 21, 20)
		time.Sleep(6 * time.Minute)
		want(0, 21, 20)
		time.Sleep(6 * time.Minute)
		want(0, 2, 0)
	})
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		w := watch(t, tracker)
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		set := func(s presence.Status) {
			t.Helper()
			noError(t, tracker.SetStatus(t.Context(), "alice", s))
		}
		set(presence.Busy)
		w.want("diff +alice -")
		set(presence.Busy)
		w.want()
		set(presence.Invisible)
		w.want("diff + -alice")
		second := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")}) // the second device
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		second.Close()
		time.Sleep(time.Minute)
		w.want()
		set(presence.Online)
		w.want("diff +alice -")
		if err := tracker.SetStatus(t.Context(), "alice", "asleep"); !errors.Is(err, presence.ErrInvalidStatus) {
			t.Errorf("got %v, want ErrInvalidStatus", err)
		}
	})
}

func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		var at presence.Cursor
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for c, err := range tracker.Changes(ctx, presence.Site, "") {
				if err != nil {
					t.Errorf("Changes: %v", err)
				}
				for _, m := range c.Joins {
					got = append(got, fmt.Sprint(c.State, " +", m.ID))
				}
				for _, d := range c.Leaves {
					got = append(got, fmt.Sprint(c.State, " -", d.ID))
				}
				at = c.Cursor
			}
		}()
		time.Sleep(time.Second)
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		time.Sleep(time.Second)
		_ = tracker.SignOut(t.Context(), "alice")
		time.Sleep(time.Second)
		cancel()
		<-ended
		if want := []string{"true +alice", "false +bob", "false -alice"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		tracker.Seen(presence.Site, user("carol"), presence.Device{})
		time.Sleep(time.Second)
		for c := range tracker.Changes(t.Context(), presence.Site, at) {
			if len(c.Joins) != 1 || c.Joins[0].ID != "carol" || c.State {
				t.Errorf("from a cursor: got %+v, want the join of carol", c)
			}
			break
		}
	})
}

func TestNeedsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		needs := func(want bool, since time.Time) {
			t.Helper()
			if got := tracker.NeedsSeen(presence.Site, "alice", since); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		faults.Break(presencetest.Fault{Delay: time.Millisecond}, presencetest.CallSnapshot)
		began := time.Now()
		needs(false, began) // of a topic that is not there yet
		faults.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallApply)
		opened := make(chan *track.Connection)
		go func() {
			c, _ := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
			opened <- c
		}()
		time.Sleep(500 * time.Millisecond)
		needs(true, time.Now()) // the join is on its way: a view now may come before it
		c := <-opened
		needs(true, began)
		time.Sleep(time.Second)
		needs(false, time.Now())
		closed := time.Now()
		c.Close()
		needs(true, began) // the view of then is older than the stream
		needs(false, closed)
		time.Sleep(6 * time.Minute)
		needs(false, began)
		faults.Heal()
		_ = tracker.SignOut(t.Context(), "alice")
		needs(true, began)
		time.Sleep(time.Second)
		needs(true, time.Now()) // whoever is not there is recorded
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		seen := time.Now()
		time.Sleep(time.Second)
		needs(false, seen)
	})
}

func TestSignedOutIsNotOnTheNextPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		w := watch(t, tracker)
		for range 20 { // within one merge window after the other
			tracker.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(4 * time.Millisecond)
			noError(t, tracker.SignOut(t.Context(), "alice"))
			view, err := tracker.View(t.Context(), presence.Site)
			noError(t, err)
			if _, shown := view.Member("alice"); shown {
				t.Fatal("alice is shown after she signed out")
			}
		}
		w.settle()
		if frames := len(w.read()); frames > 25 {
			t.Errorf("got %d events within %v, want at most 20 a second", frames, time.Second)
		}
	})
}

// Whoever becomes invisible while a page view or a stream is on its way stays so.
func TestInvisibleMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		began := time.Now()
		var wait sync.WaitGroup
		for i := range 300 {
			id := fmt.Sprint("u", i)
			wait.Go(func() {
				if i%2 == 0 {
					tracker.Seen(presence.Site, user(id), presence.Device{})
					return
				}
				c, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor(id), Topics: []presence.Topic{presence.Site}})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second)
				c.Close()
			})
			wait.Go(func() {
				if err := tracker.SetStatus(t.Context(), presence.UserID(id), presence.Invisible); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("streams took %v to open and close, want about a second", took)
		}
		view, err := tracker.View(t.Context(), presence.Site)
		if err != nil || view.Total != 0 {
			t.Errorf("got %d users shown, %v, want none", view.Total, err)
		}
	})
}
