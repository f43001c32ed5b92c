package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// A breaker keeps a server that is dead, or accepts and never answers, from
// costing more than a bounded number of goroutines: after some calls in a row
// failed it is open, and calls fail at once, but for one a while that tries.
type breaker struct {
	trips   int
	timeout time.Duration
	slots   chan struct{} // calls under way

	mu     sync.Mutex
	failed int       // in a row
	retry  time.Time // when open: the next try
}

// breakerSlots bounds the calls under way at once.
const breakerSlots = 64

func newBreaker(trips int, timeout time.Duration) *breaker {
	return &breaker{trips: trips, timeout: timeout, slots: make(chan struct{}, breakerSlots)}
}

// do runs fn in a goroutine of its own, since a client may not heed ctx, and
// returns when it does or after the timeout. fn's results may be used only if
// do returns fn's own error.
func (b *breaker) do(ctx context.Context, fn func(context.Context) error) error {
	if !b.enter() {
		return presence.ErrStoreOut
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return b.leave(ctx, ctx.Err())
	}
	done := make(chan error, 1)
	go func() {
		defer func() { cancel(); <-b.slots }()
		done <- fn(ctx)
	}()
	select {
	case err := <-done:
		return b.leave(ctx, err)
	case <-ctx.Done():
		select {
		case err := <-done: // cancel is called when fn is through
			return b.leave(ctx, err)
		default:
			return b.leave(ctx, ctx.Err())
		}
	}
}

// enter reports whether a call may be tried.
func (b *breaker) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < b.trips {
		return true
	}
	if time.Now().Before(b.retry) {
		return false
	}
	b.retry = time.Now().Add(b.timeout) // others wait for this one
	return true
}

// leave counts, and makes a failure to reach the server one that is ErrStoreOut.
func (b *breaker) leave(ctx context.Context, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var answer redis.Error
	switch {
	case err == nil:
		b.failed = 0
		return nil
	case errors.As(err, &answer) && !out(answer):
		b.failed = 0 // it answers, though it complains
		return err
	case errors.Is(context.Cause(ctx), context.Canceled):
		return err // the caller gave up
	}
	b.failed++
	b.retry = time.Now().Add(min(b.timeout, 100*time.Millisecond<<min(b.failed, 10)))
	return errors.Join(presence.ErrStoreOut, err)
}

// out reports whether an answer says that the server cannot serve just now.
func out(err redis.Error) bool {
	for _, prefix := range []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "OOM", "MISCONF", "BUSY", "NOREPLICAS"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
