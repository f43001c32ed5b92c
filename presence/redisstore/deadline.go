package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A server that hung, or was unreachable, also executes calls that their callers have given up. So each
// script contains the latest moment at which it may begin, by the server's clock (rule 26): the deadline of
// its call's context. If the server begins later, the script changes nothing and answers "LATE <its time,
// ms>".

// A serverClock is what this node knows of the servers' clocks. It may think a clock is ahead of its true
// time, by as long as a call takes, but never behind. So a server does not refuse a call that is in time.
type serverClock struct {
	began time.Time // with the store: the clock counts from here

	mu    sync.Mutex
	heard time.Duration // how far the clock of the server with the notices was ahead, at its latest answer; 0: it has not answered
	ahead time.Duration // how far the clock of another server was ahead, which refused a call that was in time
	since time.Time     // when ahead was learned
}

// aheadFor is how long ahead counts. After that, the server may refuse a call again.
const aheadFor = 10 * time.Minute

// told returns how far a server's clock is ahead of this node's, at most. The server answered now to a call
// that was made at sent.
func (c *serverClock) told(now int64, sent time.Time) time.Duration {
	return time.Duration(now)*time.Millisecond - sent.Sub(c.began)
}

// hears notes the time, in Unix ms, that the server with the notices answered.
func (c *serverClock) hears(now int64, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = c.told(now, sent)
}

// refused handles the answer of a server that refused a call. It reports whether the call was too late by
// that server's clock.
func (c *serverClock) refused(err error, sent time.Time) bool {
	if err == nil {
		return false
	}
	text, late := strings.CutPrefix(err.Error(), "LATE ")
	now, bad := strconv.ParseInt(text, 10, 64)
	if !late || bad != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead, c.since = c.told(now, sent), time.Now()
	return true
}

// last returns ARGV[1] for a script that may begin while ctx lasts: see lua/time.lua.
func (c *serverClock) last(ctx context.Context) int64 {
	ends, bound := ctx.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bound || c.heard == 0 {
		return 0
	}
	ahead := c.heard
	if time.Since(c.since) < aheadFor {
		ahead = max(ahead, c.ahead)
	}
	return -(ends.Sub(c.began) + ahead).Milliseconds()
}
