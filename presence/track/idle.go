package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// attention writes into the leases of connections whether somebody is at their pages (rule 6 of
// [backend.Store]). When the last lease of a user in a topic becomes idle, the store turns the user idle in
// the same step, which others see as away. The first lease that is not idle turns the user back. So nodes
// need not ask one another.
//
// All leases of a user at one node have the same state: whether somebody is at any of the
// user's pages at this node, or at one whose beats come here. So a node makes a user idle in all topics of these
// pages, or in none. Leases at two nodes may differ.
//
// Example: Alice has a page of the site and one of thread:1 open at node A, and a phone at node B that nobody
// holds. At 12:00:00 she stops at the page of the site, and was at the other an hour ago. At 12:00:01 node A
// writes an OpKeep in both topics, in one call, and both show her as away. Node B does nothing.
type attention struct {
	writer *writer
	users  *users
}

const (
	// leaveTaking is how long a user must be at no page before the node writes so, because users go from one
	// page to the next, and from one device to another.
	leaveTaking = time.Second
	// attendedFor is how long a page view counts as attention while nobody is at any open page of the user,
	// because the viewed page may have no stream.
	attendedFor = 5 * time.Minute
)

// A moment is a time in Unix nanoseconds, a third of the size of a time.Time; 0: no time.
type moment int64

func momentOf(t time.Time) moment { return moment(t.UnixNano()) }

// time returns the moment as a time; the zero Time for 0.
func (m moment) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(m))
}

func (m moment) add(d time.Duration) moment { return m + moment(d) }

// opened takes a connection or visit, at first before its leases are made. If nobody is at its page, as after a restart, and no other
// page is open here, the leases are idle from the start.
func (a *attention) opened(c *holder) {
	if !c.holds() {
		return
	}
	a.users.with(c.visitor.User.ID, func(u *knownUser) {
		if len(u.connections) == 1 && c.held.asked == 0 {
			u.idle = c.idle.Load() && u.viewed.add(attendedFor) <= momentOf(time.Now())
		}
		a.lookLocked(u)
	})
}

// report takes what a page tells with a beat.
func (a *attention) report(c *holder, idle bool) {
	c.idle.Store(idle)
	if c.holds() {
		a.look(c.visitor.User.ID)
	}
}

// proved notes that the page is alive. If it was silent, its latest report counts again.
func (a *attention) proved(h *holder) {
	now := time.Now()
	silent := now.Sub(time.Unix(0, h.beaten.Swap(now.UnixNano())))
	if h.beat.Load() && silent >= h.ttl() {
		a.look(h.visitor.User.ID)
	}
}

// viewed notes a page view of a user.
func (a *attention) viewed(user presence.UserID) {
	a.users.with(user, func(u *knownUser) {
		if u.idle {
			u.viewed = momentOf(time.Now())
			a.lookLocked(u)
		}
	})
}

// look updates the leases of a user's connections here: whether somebody is at the pages.
func (a *attention) look(user presence.UserID) { a.users.with(user, a.lookLocked) }

func (a *attention) lookLocked(u *knownUser) {
	now := momentOf(time.Now())
	if u.attendedHere() {
		u.left = 0
		a.sayLocked(u, false)
		a.lookLaterLocked(u, u.silentAt())
		return
	}
	if u.left == 0 {
		u.left = now
	}
	due := u.left.add(leaveTaking)
	if until := u.viewed.add(attendedFor); until > now {
		a.sayLocked(u, false)
		due = until
	}
	if due <= now {
		a.sayLocked(u, true)
	} else if u.mayTurn() {
		a.lookLaterLocked(u, due)
	}
}

// A laterLook is a call of look that is due later.
type laterLook struct {
	at    moment
	timer *time.Timer
}

// lookLaterLocked schedules a look at a user, unless an earlier one is scheduled. A user has one timer at
// most. The zero moment schedules nothing.
func (a *attention) lookLaterLocked(u *knownUser, at moment) {
	if at == 0 || u.looks != nil && u.looks.at <= at {
		return
	}
	if u.looks != nil {
		u.looks.timer.Stop()
	}
	user, l := u.id, &laterLook{at: at}
	u.looks = l
	l.timer = time.AfterFunc(time.Duration(at-momentOf(time.Now())), func() { a.lookAgain(user, l) })
}

// lookAgain is look when it is due.
func (a *attention) lookAgain(user presence.UserID, l *laterLook) {
	a.users.with(user, func(u *knownUser) {
		if u.looks == l && !a.users.closed {
			u.looks = nil
			a.lookLocked(u)
		}
	})
}

// sayLocked writes whether somebody is at a user's pages here, if the leases say otherwise. A connection whose leases are
// not made yet gets it with its join.
func (a *attention) sayLocked(u *knownUser, idle bool) {
	if u.idle == idle {
		return
	}
	u.idle = idle
	for _, h := range u.connections {
		if h.held.asked == 0 {
			continue
		}
		for _, topic := range h.heldTopics() {
			a.writer.put(topic, cellOf(h, topic, leaseCell{need: toKeep}))
		}
	}
}

// attendedHere reports whether somebody is at a page of the user on this node.
func (u *knownUser) attendedHere() bool {
	for _, c := range u.connections {
		if c.holds() && !c.idle.Load() && !c.silentLocked() {
			return true
		}
	}
	return false
}

// silentAt returns when nobody will count as being at a page of the user on this node, unless a page reports
// before: the pages with somebody will count as silent by then. It returns zero if no such moment exists: one
// of these pages sends no beats, or there is no other page.
func (u *knownUser) silentAt() (at moment) {
	if len(u.connections) < 2 {
		return 0
	}
	others := false
	for _, c := range u.connections {
		switch {
		case !c.holds() || c.silentLocked():
		case c.idle.Load():
			others = true
		case !c.beat.Load():
			return 0
		default:
			at = max(at, moment(c.beaten.Load()).add(c.ttl()))
		}
	}
	if !others {
		return 0
	}
	return at
}

// mayTurn reports whether the leases here are not idle.
func (u *knownUser) mayTurn() bool {
	if u.idle {
		return false
	}
	for _, c := range u.connections {
		if c.holds() {
			return true
		}
	}
	return false
}
