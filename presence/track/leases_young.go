package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// New leases are checked once, after half of the grace, because a failover may have lost them without a sign:
// no diff says that a user who is held by a grace has a page again.
//
// Example with a grace of 10 s. Alice closes a page at 12:00:00.0, and opens the next one at 12:00:00.2.
// Redis fails over, and loses what was written since 12:00:00.1. The check at 12:00:05.2 finds her lease
// gone, and makes it again. With the heartbeat at 12:00:15 alone she would leave at 12:00:10.

// A youngLease is a connection whose leases were just made.
type youngLease struct {
	conn *holder
	made time.Duration // after leases.began
}

// confirmAfter is the age at which new leases are checked; 0: never.
func (l *leases) confirmAfter() time.Duration { return l.cfg.shortestGrace() / 2 }

// confirmSoon schedules a check of the leases that a connection makes now.
func (l *leases) confirmSoon(c *holder) {
	after := l.confirmAfter()
	if after == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.young = append(l.young, youngLease{c, time.Since(l.began)}); len(l.young) == 1 {
		l.confirm.Reset(after)
	}
}

// confirmDue checks the leases that are due.
func (l *leases) confirmDue() {
	after, now, due := l.confirmAfter(), time.Since(l.began), 0
	l.mu.Lock()
	for due < len(l.young) && l.young[due].made+after <= now {
		due++
	}
	looked := l.young[:due:due]
	if l.young = l.young[due:]; len(l.young) == 0 {
		l.young = nil
	} else {
		l.confirm.Reset(l.young[0].made + after - now)
	}
	l.mu.Unlock()
	for _, y := range looked {
		l.confirmOne(y.conn, after)
	}
}

// confirmOne checks the leases of a connection that were made a while ago. It does not lengthen them. Leases
// that are gone are made again: see rejoin.
func (l *leases) confirmOne(h *holder, after time.Duration) {
	if h.conn.Err() != nil {
		return
	}
	for _, topic := range h.heldTopics() {
		if left := l.cfg.ttl(topic) - after; left > 0 {
			l.writer.add(topic, backend.Op{Kind: backend.OpHeartbeat, User: presence.User{ID: h.member(topic)}, Holder: h.id, For: left})
		}
	}
}
