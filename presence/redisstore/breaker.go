package redisstore

import (
	"context"
	"errors"
	"fmt"
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

	mu       sync.Mutex
	failed   int       // in a row
	retry    time.Time // when open: the next try
	broken   uint64    // times that it opened
	refused  uint64    // calls that it failed
	failures uint64    // calls that failed
}

// retryMost is the longest that an open breaker waits from a try to the next one:
// leases expire meanwhile.
const retryMost = 500 * time.Millisecond

// breakerSlots bounds the calls under way at once.
const breakerSlots = 64

func newBreaker(trips int, timeout time.Duration) *breaker {
	return &breaker{trips: trips, timeout: timeout, slots: make(chan struct{}, breakerSlots)}
}

// call runs fn under the breaker, in a goroutine of its own, since a client may
// not heed ctx. It returns what fn returns, or an error after the timeout; what
// fn returns later is forgotten, so fn must not write to what the caller reads.
func call[T any](ctx context.Context, s *Store, op string, fn func(context.Context) (T, error)) (T, error) {
	var late T
	b := s.breaker
	if !b.enter() {
		return late, wrap(op, presence.ErrStoreOut)
	}
	bound, cancel := context.WithTimeout(ctx, b.timeout)
	select {
	case b.slots <- struct{}{}:
	case <-bound.Done():
		cancel()
		return late, wrap(op, b.leave(ctx, bound.Err()))
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { cancel(); <-b.slots }()
		value, err := fn(bound)
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, wrap(op, b.leave(ctx, a.err))
	case <-bound.Done():
	}
	select {
	case a := <-done: // bound ends when fn is through, too
		return a.value, wrap(op, b.leave(ctx, a.err))
	default:
		return late, wrap(op, b.leave(ctx, bound.Err()))
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
		b.refused++
		return false
	}
	b.retry = time.Now().Add(b.timeout) // others wait for this one
	return true
}

// leave counts how a call went for a caller with ctx, and makes a failure to
// reach the server one that is ErrStoreOut.
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
	case errors.Is(ctx.Err(), context.Canceled):
		return err // the caller gave up
	}
	b.failures++
	if b.failed++; b.failed == b.trips {
		b.broken++
	}
	b.retry = time.Now().Add(min(retryMost, 100*time.Millisecond<<min(b.failed, 10)))
	return fmt.Errorf("%w: %w", presence.ErrStoreOut, err)
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

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisstore: %s: %w", op, err)
}
