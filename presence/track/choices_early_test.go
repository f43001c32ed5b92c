package track_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// slowTallies are tallies whose Open takes long.
type slowTallies struct {
	tallies
	takes time.Duration
}

func (s *slowTallies) Open(ctx context.Context, topic presence.Topic, v presence.Visitor, have presence.DiffID) (*track.Line, error) {
	time.Sleep(s.takes)
	return s.tallies.Open(ctx, topic, v, have)
}

// A node asks what a user chose as soon as a page asks for its connection, and not once the page's topics are open.
//
// Alice closes a page at node A at 10.9 s, and the grace holds her until 11.9 s. She opens the next one at node B at
// 11.0 s, and one of its topics opens at 11.8 s. The first two answers about her choice are lost, which costs 0.25 s at
// least.
func TestAUserIsAskedAboutWhileTopicsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, store := time.Now(), memstore.New()
		faults := presencetest.NewFaults(store)
		a := start(t, store, track.Config{Node: "a", Grace: time.Second})
		b := start(t, faults, track.Config{Node: "b", Grace: time.Second})
		noError(t, b.Serve(&slowTallies{tallies{tracker: b, first: tally{n: 1}}, 800 * time.Millisecond}, "tally"))
		w := watch(t, a)
		before := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		time.Sleep(time.Until(began.Add(10900 * time.Millisecond))) // nodes sweep each full second
		before.Close()
		time.Sleep(100 * time.Millisecond)
		faults.Break(presencetest.Fault{Err: errDown, Landed: true, Times: 2}, presencetest.CallStatuses)
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "tally"}})
		time.Sleep(5 * time.Second)
		w.want()
		if got := faults.Calls(presencetest.CallStatuses); got != 3 {
			t.Errorf("the store was asked %d times what alice chose, want 3", got)
		}
	})
}

// Nobody answers what a user chose. Connections of that user come and go. They leave one question, so there is room for
// what others wait for.
func TestConnectionsThatComeAndGoLeaveOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		a.PendAtMost(50)
		w := watch(t, a)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallStatuses)
		for range 200 {
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice")}).Close()
		}
		for i := range 40 {
			a.Seen(presence.Site, user("u"+string(rune('A'+i))), presence.Device{})
		}
		if got := a.Stats().Dropped; got != 0 {
			t.Errorf("got %d dropped, want 0", got)
		}
		faults.Heal()
		time.Sleep(5 * time.Second)
		w.read()
		if got := view(t, a).Total; got != 40 {
			t.Errorf("got %d online, want 40", got)
		}
	})
}
