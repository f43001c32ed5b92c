package webhook

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// When an event is posted again: after 5 s, 10 s, 20 s, 40 s and then once a minute for as
// long as it is younger than a quarter of an hour; then after a fifth of its age, up to an
// hour. All with jitter, which only shortens.
const (
	firstWait = 5 * time.Second
	earlyWait = time.Minute
	lateWait  = time.Hour
	early     = 15 * time.Minute
)

// backoff returns the wait after a try of an event that is so old.
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

// A circuit spares a receiver that fails: after maxFailures posts in a row have failed, one
// post at a time probes it, and the others wait. The zero value is closed.
type circuit struct {
	mu      sync.Mutex
	failed  int       // in a row
	probing bool      // a probe is under way
	next    time.Time // when the next probe may begin
	since   time.Time // when the first of the failures was
}

// maxFailures is how many posts fail in a row before the circuit opens.
const maxFailures = 8

// enter asks for leave to post. It returns 0, or how long to wait before asking again.
func (c *circuit) enter() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed < maxFailures {
		return 0
	}
	if wait := time.Until(c.next); wait > 0 {
		return wait + rand.N(time.Second)
	}
	if c.probing {
		return time.Second + rand.N(time.Second)
	}
	c.probing = true
	return 0
}

// leave ends a post. asked is the receiver's Retry-After, 0 if it gave none.
func (c *circuit) leave(ok bool, asked time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
	if ok {
		c.failed = 0
		return
	}
	now := time.Now()
	if c.failed == 0 {
		c.since = now
	}
	c.failed++
	if c.failed >= maxFailures {
		c.next = now.Add(max(backoff(c.failed-maxFailures+1, now.Sub(c.since)), asked))
	}
}
