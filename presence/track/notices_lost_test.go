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
