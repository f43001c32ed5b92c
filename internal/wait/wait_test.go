package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

func TestWakeupsMerge(t *testing.T) {
	w := wait.NewWakeup()
	for range 2 {
		for range 3 {
			w.Wake()
		}
		if len(w) != 1 {
			t.Fatalf("got %d wake-ups pending, want 1", len(w))
		}
		<-w
	}
}

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !wait.For(t.Context(), time.Second) || time.Since(began) != time.Second {
			t.Errorf("waited %v, want 1s and true", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if wait.For(ctx, time.Minute) || time.Since(began) != time.Second {
			t.Errorf("waited %v, want 1s, which the context allows, and false", time.Since(began))
		}
	})
}

func TestMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wait.NewMutex()
		if !m.TryLock() || m.TryLock() {
			t.Error("TryLock: want true, and false while the lock is held")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock while it is held: got %v, want %v", err, context.DeadlineExceeded)
		}
		go func() { time.Sleep(time.Second); m.Unlock() }()
		if err := m.Lock(t.Context()); err != nil {
			t.Errorf("Lock after Unlock: got %v", err)
		}
	})
}
