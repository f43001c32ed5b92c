package webhook

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// When an event is posted again: after 5 s, 10 s, 20 s, 40 s, and then every 45 s until it is a quarter of an
// hour old. After that each wait is a fifth of the event's age, and at most an hour. Jitter shortens each wait
// by up to a quarter. A post without an answer takes 10 s, so the time from one post to the next stays under a
// minute.
const (
	firstWait = 5 * time.Second
	earlyWait = 45 * time.Second
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

// A circuit spares a failing receiver: after maxFailures failures in a row, posts begin probeEvery apart,
// until one of them succeeds.
type circuit struct {
	mu     sync.Mutex
	failed int       // in a row
	next   time.Time // when the next post may begin while the circuit is open
}

const (
	// maxFailures is how many posts fail in a row before the circuit opens.
	maxFailures = 8
	// probeEvery is short enough to post all events that wait, 10,000 at most by default, about once a minute.
	probeEvery = 5 * time.Millisecond
)

// enter waits until a post may begin. Call leave after the post.
func (c *circuit) enter(ctx context.Context) error {
	if pause := c.turn(); pause > 0 && !wait.For(ctx, pause) {
		return ctx.Err()
	}
	return nil
}

// turn reserves the next turn, and returns how long to wait for it.
func (c *circuit) turn() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed < maxFailures {
		return 0
	}
	now := time.Now()
	if c.next.Before(now) {
		c.next = now
	}
	at := c.next
	c.next = at.Add(probeEvery)
	return at.Sub(now)
}

// leave ends a post that worked or failed.
func (c *circuit) leave(worked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if worked {
		c.failed = 0
	} else {
		c.failed++
	}
}
