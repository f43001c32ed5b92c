package webhook

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// When an event is posted again: after 5 s, 10 s, 20 s, 40 s, and then once a minute until it
// is a quarter of an hour old. After that each wait is a fifth of the event's age, and at
// most an hour. Jitter shortens each wait by up to a quarter.
const (
	firstWait = 5 * time.Second
	earlyWait = time.Minute
	lateWait  = time.Hour
	early     = 15 * time.Minute
)

// backoff returns the wait after the given try of an event of the given age.
func backoff(try int, age time.Duration) time.Duration {
	most := earlyWait
	if age >= early {
		most = min(age/5, lateWait)
	}
	wait := min(firstWait<<min(max(try-1, 0), 20), most)
	return wait - rand.N(wait/4)
}

// maxAsked bounds the Retry-After of a receiver.
const maxAsked = time.Hour

// retryAfter reads the header: seconds, or a moment. It returns 0 where there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(maxAsked/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxAsked)
	}
	return 0
}

// A circuit spares a receiver that fails. After maxFailures posts in a row have failed, posts
// go one at a time, probeEvery apart, until one of them succeeds.
type circuit struct {
	turn chan struct{} // capacity 1: of the one post at a time

	mu     sync.Mutex
	failed int       // in a row
	next   time.Time // when the next post may begin while the circuit is open
}

const (
	// maxFailures is how many posts fail in a row before the circuit opens.
	maxFailures = 8
	probeEvery  = 100 * time.Millisecond
)

// An outcome is what became of a post.
type outcome int

const (
	worked outcome = iota
	failed
	unknown
)

// enter waits until a post may begin. The post ends with leave.
func (c *circuit) enter(ctx context.Context) (leave func(outcome), err error) {
	if open, _ := c.open(); !open {
		return c.leave, nil
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if open, wait := c.open(); open {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			<-c.turn
			return nil, ctx.Err()
		}
		return func(o outcome) { c.leave(o); <-c.turn }, nil
	}
	<-c.turn
	return c.leave, nil
}

// open reports whether the circuit is open, and how long until the next post.
func (c *circuit) open() (bool, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed >= maxFailures, time.Until(c.next)
}

func (c *circuit) leave(o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o {
	case worked:
		c.failed = 0
	case failed:
		c.failed++
		c.next = time.Now().Add(probeEvery)
	}
}
