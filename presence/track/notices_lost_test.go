package track_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A forgettingBus takes the first sign-out, loses its data, and then answers.
type forgettingBus struct {
	backend.Store

	mu    sync.Mutex
	hear  func(backend.Notice)
	taken []backend.Notice // sign-outs
}

func (b *forgettingBus) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	b.mu.Lock()
	b.hear = fn
	b.mu.Unlock()
	return b.Store.Listen(ctx, fn)
}

func (b *forgettingBus) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.taken)
}

func (b *forgettingBus) Publish(ctx context.Context, n backend.Notice) error {
	err := b.Store.Publish(ctx, n)
	if n.Kind != backend.NoticeSignedOut {
		return err
	}
	b.mu.Lock()
	b.taken = append(b.taken, n)
	first, hear := len(b.taken) == 1, b.hear
	b.mu.Unlock()
	if first {
		hear(backend.Notice{Missed: time.Second})
	}
	return err
}

// A node that has heard a sign-out tells it again as old as it is: a page of that user which a third node
// opened just before has to end.
func TestSignOutThatIsToldAgainByAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &forgettingBus{Store: memstore.New()}
		start(t, bus, track.Config{})
		time.Sleep(time.Minute)
		n := backend.SignOutNotice("alice")
		n.ID = "1"
		bus.hear(n)
		bus.hear(backend.Notice{Missed: time.Second})
		heard := time.Now()
		for bus.count() == 0 {
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		bus.mu.Lock()
		defer bus.mu.Unlock()
		if ago := bus.taken[0].Ago; ago > time.Since(heard) {
			t.Errorf("the sign-out is told again as %v old, %v after it was heard", ago, time.Since(heard))
		}
	})
}

// A node that hears its own sign-out late, as if it were new, ends no page that was opened since.
func TestSignOutThatItsNodeHearsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &forgettingBus{Store: memstore.New()}
		tracker := start(t, bus, track.Config{})
		noError(t, tracker.SignOut(t.Context(), "alice"))
		time.Sleep(300 * time.Millisecond)
		page := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(300 * time.Millisecond)
		bus.hear(bus.taken[0])
		wantEnded(t, "the sign-out was heard late", false, page)
	})
}

// A node that learns of a loss before it gets the answer to a sign-out tells the sign-out again.
func TestSignOutThatTheBusLosesBeforeItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &forgettingBus{Store: memstore.New()}
		tracker := start(t, bus, track.Config{})
		noError(t, tracker.SignOut(t.Context(), "alice"))
		time.Sleep(2 * time.Second)
		bus.mu.Lock()
		defer bus.mu.Unlock()
		if n := len(bus.taken); n != 2 || bus.taken[n-1].Ago == 0 || bus.taken[n-1].User != presence.UserID("alice") {
			t.Errorf("the bus took the sign-outs %+v, want it once more, with an age", bus.taken)
		}
	})
}

// A node that learns that the store has lost data writes again what it holds, also where its topics show nothing
// of the loss: they are still waiting, after an earlier one, for the nodes to do so.
func TestLossOfNoticesRestoresLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &forgettingBus{Store: memstore.New()}
		tracker := start(t, bus, track.Config{})
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		choose(t, tracker, "alice", presence.Busy)
		time.Sleep(time.Minute)
		turn(t, bus, "alice", presence.Online) // as in a copy from before
		bus.hear(backend.Notice{Missed: time.Second})
		time.Sleep(time.Second)
		snap, err := bus.Snapshot(t.Context(), presence.Site)
		if noError(t, err); len(snap.Members) != 1 || snap.Members[0].Status != presence.Busy {
			t.Errorf("the store has %v, want alice, who is busy", snap.Members)
		}
	})
}
