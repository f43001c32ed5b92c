package track_test

import (
	"context"
	"fmt"
	"sync"
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

// missingStore is a laggingStore whose listeners are told that they missed notices.
type missingStore struct {
	*laggingStore
	mu        sync.Mutex
	listeners []func(backend.Notice)
}

func (s *missingStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	s.mu.Lock()
	s.listeners = append(s.listeners, fn)
	s.mu.Unlock()
	return s.laggingStore.Listen(ctx, fn)
}

// Publish loses the notices of visits.
func (s *missingStore) Publish(ctx context.Context, n backend.Notice) error {
	if n.Kind == backend.NoticeVisited {
		return nil
	}
	return s.laggingStore.Publish(ctx, n)
}

// loses takes the store back to when lag was called, and tells the nodes.
func (s *missingStore) loses() {
	s.failover()
	s.missed()
}

// missed tells the nodes that they have missed notices.
func (s *missingStore) missed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fn := range s.listeners {
		fn(backend.Notice{Missed: time.Second})
	}
}

// beats sends the beats of a page to a node until the test ends.
func beats(t *testing.T, to *track.Tracker, page presence.Token) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		for {
			_, _ = to.Beat(context.Background(), page, presence.Visitor{}, track.Page{})
			select {
			case <-stop:
				return
			case <-time.After(15 * time.Second):
			}
		}
	}()
}

// A page closes, or its browser signs off, in the seconds after a loss, while its lease is of the generation before. The page has
// its grace, and the browser leaves at once.
func TestEndsAfterALoss(t *testing.T) {
	for _, off := range []bool{false, true} {
		for _, after := range []time.Duration{0, 600 * time.Millisecond, 2 * time.Second, 4 * time.Second} {
			bubble(t, fmt.Sprint(off, after), func(t *testing.T) {
				store := &missingStore{laggingStore: newLaggingStore()}
				a, b := pair(t, store)
				w := watch(t, b)
				alice := connect(t, a, track.ConnectOptions{Visitor: from("x")})
				time.Sleep(20 * time.Second)
				store.lag()
				time.Sleep(900 * time.Millisecond)
				store.loses()
				time.Sleep(after)
				shown := func() bool {
					w.read()
					_, is := w.roster[string(presence.Site)]["alice"]
					return is
				}
				if off {
					noError(t, a.SignOff(t.Context(), "alice", "x"))
					time.Sleep(2 * time.Second)
					if shown() {
						t.Error("alice is shown 2 s after she signed off")
					}
					return
				}
				alice.Close()
				time.Sleep(9 * time.Second)
				if !shown() {
					t.Error("alice has left before the grace was over")
				}
			})
		}
	}
}

// A failover loses that a user hid whose beats come to another node than the stream. The nodes tell the store again.
func TestHidAtASilentPageBeforeALoss(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := &missingStore{laggingStore: newLaggingStore()}
		a, b := pair(t, store)
		w := watch(t, a)
		beats(t, a, connect(t, b, track.ConnectOptions{Visitor: from("x"), Beat: true}).Token())
		time.Sleep(2 * time.Minute)
		store.lag()
		time.Sleep(10 * time.Millisecond)
		noError(t, a.SetStatus(t.Context(), "alice", presence.Invisible))
		time.Sleep(800 * time.Millisecond)
		store.loses()
		time.Sleep(3 * time.Minute)
		w.read()
		if _, is := w.roster[string(presence.Site)]["alice"]; is || onlineIn(t, store) {
			t.Error("alice, who hid, is shown")
		}
	})
}

// Nobody leaves where a node takes long to write what it holds: the generation before lives until then.
func TestSlowGeneration(t *testing.T) {
	need.Slow(t, "thousands of connections")
	bubble(t, "", func(t *testing.T) {
		store := &missingStore{laggingStore: newLaggingStore()}
		slow := presencetest.NewFaults(store)
		a, b := pair(t, slow)
		w := watch(t, b)
		for i := range 10_000 {
			connect(t, a, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i))})
		}
		time.Sleep(20 * time.Second)
		slow.Break(presencetest.Fault{Delay: 2 * time.Second})
		time.Sleep(20 * time.Second)
		w.skip()
		store.missed()
		for range 90 {
			time.Sleep(time.Second)
			for _, e := range w.read() {
				if e != "diff + -" {
					t.Fatalf("got %.100s of users who stay", e)
				}
			}
		}
		slow.Heal()
	})
}

// Nobody leaves where the store takes polls of a node that begins a generation, and not its writes.
func TestGenerationThatIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &missingStore{laggingStore: newLaggingStore()}
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		w := watch(t, b)
		alice := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		w.skip()
		_, err := store.Poll(t.Context(), backend.Poll{Process: alice.ID().Process()}) // the lease of the process alone is lost
		noError(t, err)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		time.Sleep(25 * time.Second)
		faults.Heal()
		time.Sleep(time.Minute)
		w.want()
	})
}

// A process that stood still while a sweep ended what it held goes on as another generation, and its users are back. So it is when
// the store forgets the lease of the process alone, and then nobody leaves.
func TestSweptGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a := start(t, faults, track.Config{Node: "a"})
		w := watch(t, start(t, memory, track.Config{Node: "b"}))
		alice := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(10 * time.Second)
		w.want("diff +alice -")
		_, err := memory.Poll(t.Context(), backend.Poll{Process: alice.ID().Process()})
		noError(t, err)
		time.Sleep(time.Minute)
		w.want()
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(30 * time.Second)
		w.want("diff + -alice")
		faults.Heal()
		time.Sleep(10 * time.Second)
		w.want("diff +alice -")
		users, err := a.Staff().Inspect(t.Context(), presence.Site, "", 10)
		noError(t, err)
		if want := presence.Holder(alice.ID().Process() + ".0"); len(users) != 1 || len(users[0].Leases) != 1 || users[0].Leases[0].Holder != want {
			t.Errorf("got %+v, want one lease, of %s", users, want)
		}
		alice.Close()
		time.Sleep(12 * time.Second)
		w.want("diff + -alice")
	})
}

// Staff name one connection: the user's others at that node go on.
func TestDisconnectOneOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Node: "a"})
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("eve")})
		two := connect(t, a, track.ConnectOptions{Visitor: visitor("eve")})
		noError(t, a.Staff().DisconnectConnection(t.Context(), "staff", "eve", one.ID()))
		time.Sleep(time.Second)
		if one.Err() == nil || two.Err() != nil {
			t.Errorf("the connections ended with %v and %v, want an end of the first alone", one.Err(), two.Err())
		}
	})
}
