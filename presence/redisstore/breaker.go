package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// A breaker keeps a server that is dead, or accepts and never answers, from
// costing more than a bounded number of goroutines: after some calls in a row
// failed it is open, and calls fail at once, but for one a while that tries.
//
// A store has one for reads and one for writes. Visitors make reads, as many as they
// like; a burst of slow reads must not keep heartbeats from being written.
type breaker struct {
	trips   int
	timeout time.Duration
	slots   chan struct{} // calls under way

	mu        sync.Mutex
	failed    int       // in a row
	retry     time.Time // when open: the next try
	broken    uint64    // times that it opened
	refused   uint64    // calls that it failed
	failures  uint64    // calls that failed
	lastOut   time.Time // when the last of them did
	congested uint64    // calls that found no slot
}

// maxRetryWait is the longest that an open breaker waits from a try to the next one:
// leases expire meanwhile.
const maxRetryWait = 500 * time.Millisecond

// maxCalls bounds the calls under way at once.
const maxCalls = 64

func newBreaker(trips int, timeout time.Duration) *breaker {
	return &breaker{trips: trips, timeout: timeout, slots: make(chan struct{}, maxCalls)}
}

// call runs fn under the breaker, in a goroutine of its own, since a client may
// not heed ctx. It returns what fn returns, or an error after the timeout; what
// fn returns later is forgotten, so fn must not write to what the caller reads.
//
// A call that finds no slot for a quarter of its timeout fails, and says nothing about
// the server: this node asks more than the slots allow.
func call[T any](ctx context.Context, b *breaker, op string, fn func(context.Context) (T, error)) (T, error) {
	var late T
	if !b.enter() {
		return late, wrap(op, presence.ErrStoreOut)
	}
	bound, cancel := context.WithTimeout(ctx, b.timeout)
	if !b.slot(bound) {
		cancel()
		return late, wrap(op, b.crowded(ctx))
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

// slot waits for a slot.
func (b *breaker) slot(ctx context.Context) bool {
	select {
	case b.slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(b.timeout / 4)
	defer timer.Stop()
	select {
	case b.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// crowded counts a call that found no slot. It does not count against the server.
func (b *breaker) crowded(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err // the caller gave up
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.congested++
	return fmt.Errorf("%w: %d calls are under way already", presence.ErrStoreOut, maxCalls)
}

// leave counts how a call went for a caller with ctx, and returns its verdict.
func (b *breaker) leave(ctx context.Context, err error) error {
	judged := verdict(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !errors.Is(judged, presence.ErrStoreOut):
		b.failed = 0 // it answers, though it may complain
		return judged
	case errors.Is(ctx.Err(), context.Canceled):
		return err // the caller gave up
	}
	b.failures++
	b.lastOut = time.Now()
	if b.failed++; b.failed == b.trips {
		b.broken++
	}
	b.retry = time.Now().Add(min(maxRetryWait, 100*time.Millisecond<<min(b.failed, 10)))
	return judged
}

// verdict makes an error one that is ErrStoreOut where the server was not reached or
// cannot serve now, and ErrRefused where it answered that this call will not do. A
// server that denies a command to its user is neither: what is to be written waits
// until the operator allows it.
func verdict(err error) error {
	var answer redis.Error
	switch {
	case err == nil || errors.Is(err, ErrUnfit):
		return err
	case !errors.As(err, &answer) || says(answer, unable...):
		return fmt.Errorf("%w: %w", presence.ErrStoreOut, err)
	case says(answer, denials...):
		return err
	}
	return fmt.Errorf("%w: %w", presence.ErrRefused, err)
}

// unable and denials are how answers begin that are not about one topic.
var (
	unable = []string{
		"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "OOM", "MISCONF", "BUSY", "NOREPLICAS",
		"MOVED", "ASK", "ERR max number of clients",
	}
	denials = []string{"NOPERM", "NOAUTH", "WRONGPASS", "ERR The user executing the script"}
)

// says reports whether an answer begins with one of these. Redis 6.2 says behind
// words of its own what a command inside a script answered.
func says(err redis.Error, prefixes ...string) bool {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "ERR Error running script"); ok {
		_, text, _ = strings.Cut(rest, ": ")
		if at := strings.Index(text, ": "); at >= 0 && strings.HasPrefix(text, "@") {
			text = text[at+2:]
		}
		text = strings.TrimPrefix(text, "-")
	}
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
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
