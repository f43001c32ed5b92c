package redisstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A breaker bounds the goroutines that wait for a server that is dead, or that accepts calls and never
// answers. After several failures in a row it opens: calls then fail at once, except for one from time to
// time that tries the server.
//
// A store has one for reads and one for writes. Visitors can cause any number of reads, and a burst of slow
// reads must not delay heartbeats.
type breaker struct {
	trips   int
	timeout time.Duration
	server  endpoint
	slots   chan struct{} // calls under way

	mu     sync.Mutex
	failed int                // calls that failed in a row
	retry  time.Time          // when open: the next try
	stats  backend.StoreStats // what it counts of them
}

const (
	maxRetryWait = 500 * time.Millisecond // between two tries of an open breaker. Leases expire meanwhile
	maxCalls     = 64                     // under way at the same time
)

func newBreaker(cfg Config, server endpoint) *breaker {
	return &breaker{trips: cfg.MaxFailures, timeout: cfg.Timeout, server: server, slots: make(chan struct{}, maxCalls)}
}

// call runs fn under the breaker, in a goroutine of its own because a client may ignore ctx.
// It returns the results of fn, or an error after the timeout. Results that come later are
// dropped, so fn must not write to variables of the caller.
//
// A call that gets no slot within a quarter of its timeout fails. This does not count
// against the server: the node makes more calls than there are slots.
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
	case a := <-done: // bound also ends when fn returns
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
		b.stats.Refused++
		return false
	}
	b.retry = time.Now().Add(b.timeout) // other calls wait for the result of this one
	return true
}

func (b *breaker) slot(ctx context.Context) bool {
	select {
	case b.slots <- struct{}{}:
		return true
	case <-time.After(b.timeout / 4):
	case <-ctx.Done():
	}
	return false
}

// rest waits until no call is under way, for as long as a call may take. A call goes on after its caller has
// given up.
func (b *breaker) rest() {
	bound := time.After(b.timeout)
	for range cap(b.slots) {
		select {
		case b.slots <- struct{}{}:
			defer func() { <-b.slots }()
		case <-bound:
			return
		}
	}
}

// crowded counts a call that got no slot, and returns its error.
func (b *breaker) crowded(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err // the caller gave up
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stats.Congested++
	return fmt.Errorf("%w: %d calls are under way already", presence.ErrStoreOut, maxCalls)
}

// leave counts the outcome of a call for a caller with ctx, and returns its error.
func (b *breaker) leave(ctx context.Context, err error) error {
	judged := verdict(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !errors.Is(judged, presence.ErrStoreOut):
		b.server.reached.Store(true)
		b.failed = 0 // the server answered, though maybe with an error
		return judged
	case errors.Is(ctx.Err(), context.Canceled):
		return err // the caller gave up
	}
	b.stats.Failed++
	b.stats.LastOut = time.Now()
	if b.failed++; b.failed == b.trips {
		b.stats.Broken++
	}
	b.retry = time.Now().Add(min(maxRetryWait, 100*time.Millisecond<<min(b.failed, 10)))
	return b.server.explain(judged)
}

// count adds the breaker's figures to stats.
func (b *breaker) count(stats *backend.StoreStats) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stats.BreakerOpen = stats.BreakerOpen || b.failed >= b.trips
	stats.Broken += b.stats.Broken
	stats.Refused += b.stats.Refused
	stats.Failed += b.stats.Failed
	stats.Congested += b.stats.Congested
	if b.stats.LastOut.After(stats.LastOut) {
		stats.LastOut = b.stats.LastOut
	}
}

// verdict wraps an error: in ErrStoreOut if the server was not reached or cannot serve now, in ErrRefused if
// the server refused this call. If the server's user may not use a command, the error stays as it is: writes
// then wait until the operator allows the command.
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

// unable and denials are prefixes of errors that concern more than one topic.
var (
	unable = []string{
		"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "OOM", "MISCONF", "BUSY", "NOREPLICAS",
		"MOVED", "ASK", "ERR max number of clients", "ERR " + noDatabase, "LATE",
	}
	denials = []string{"NOPERM", "NOAUTH", "WRONGPASS", "ERR The user executing the script"}
)

// inScript is what Redis 6.2 puts before the error of a command inside a script, such as
// "ERR Error running script (call to f_12ab): @user_script:1: @user_script: 1: -OOM …".
var inScript = regexp.MustCompile(`^ERR Error running script[^:]*: (@[^:]*: ?[0-9]*: ?)*-?`)

// says reports whether an error begins with one of the prefixes.
func says(err redis.Error, prefixes ...string) bool {
	text := err.Error()
	if strings.HasPrefix(text, "ERR Error running script") {
		text = text[len(inScript.FindString(text)):]
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
