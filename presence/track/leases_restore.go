package track

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// restore gives the store, after it lost data, everything of this node that it may have lost: page views, connections and
// notices. Each has its moment, so the order does not matter. The node hears all notices first, so that it restores no user who
// signed out. restore returns an error if it cannot hear them. A loss is noticed several times, also in each topic, and restored
// once.
func (l *leases) restore(ctx context.Context) error {
	if err := l.choices.hearAll(ctx); err != nil {
		return err
	}
	l.lost()
	return nil
}

// lost takes a loss of data that this node has noticed, after it heard all notices.
func (l *leases) lost() {
	l.notices.lost()
	if l.generation.lost() {
		l.nextGeneration()
	} else { // parts of a store may be lost one after the other
		l.again.Reset(restoreWait / 4)
	}
}

// restoreSoon is restore in the background, until it succeeds.
func (l *leases) restoreSoon() { l.afterHearing(l.lost) }

// swept begins a new generation in the background, because the leases of this one have been ended.
func (l *leases) swept() { l.afterHearing(l.nextGeneration) }

// afterHearing calls do in the background, once this node has heard all notices: so it makes no lease for who signed out.
func (l *leases) afterHearing(do func()) {
	l.life.spawn(func(ctx context.Context) {
		if l.hear(ctx) {
			do()
		}
	})
}

// hear returns true once this node has heard all notices, and false if ctx ended before.
func (l *leases) hear(ctx context.Context) bool {
	for l.choices.hearAll(ctx) != nil {
		if !wait.For(ctx, backoffFirst) {
			return false
		}
	}
	return true
}

func (l *leases) isSilent(h *holder) bool {
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	return h.silentLocked() && !h.isVisit()
}

// nextGeneration makes the lease of this node begin the next generation, and then call rewriteSoon.
func (l *leases) nextGeneration() {
	l.generation.wanted.Store(true)
	l.poller.soon.Wake()
}

// rewriteSoon writes everything of this node again, in the background.
func (l *leases) rewriteSoon() {
	l.life.spawn(func(ctx context.Context) {
		l.life.spawn(func(ctx context.Context) { _ = l.seal.agree(ctx) }) // if this fails, the next check of the secret repeats it
		for _, view := range l.users.liveViews() {
			if !l.hasLeft(view) {
				l.viewed(view)
			}
		}
		l.rewrite(ctx)
	})
}

// renewAll renews the leases of this node in the background, after an outage in which some may have expired. The lease of a
// page that is silent here is made again: its beats may come to other nodes, and it repeats a failed beat only after ten seconds.
func (l *leases) renewAll() {
	l.life.spawn(func(ctx context.Context) {
		l.inParts(ctx, append(l.users.all(), l.users.allVisits()...), func(h *holder) {
			if l.renewNow(h, toBeat); l.isSilent(h) && l.outage.inDoubt() {
				l.joinAgain(h)
			}
		})
	})
}

// Leases are written in parts, so that joins and leaves need not wait behind all of them. Those of 50,000 connections take two
// seconds.
const (
	rewriteAtOnce = 500
	rewritePause  = 20 * time.Millisecond
)

// rewritten reports whether this node has written what its connections and visits hold in a generation.
func (l *leases) rewritten(n int32) bool {
	return !slices.ContainsFunc(append(l.users.all(), l.users.allVisits()...), func(c *holder) bool { return c.written.Load() < n && c.holds() && c.conn.Err() == nil })
}

// rewrite writes what this node holds by connections and visits.
func (l *leases) rewrite(ctx context.Context) {
	l.inParts(ctx, l.users.all(), func(c *holder) {
		l.guests.count(c)
		if c.holds() {
			l.joinAgain(c)
		}
	})
	l.inParts(ctx, l.users.allVisits(), func(h *holder) { l.put(h, toMake) })
}

// inParts calls do for each of many holders, with pauses.
func (l *leases) inParts(ctx context.Context, all []*holder, do func(*holder)) {
	for part := range slices.Chunk(all, rewriteAtOnce) {
		for _, h := range part {
			do(h)
		}
		if !wait.For(ctx, rewritePause) {
			return
		}
	}
}

// hasLeft reports whether the user of a page view that would still hold is known to have left: a stream
// closed, on any node, and ended the view.
func (l *leases) hasLeft(view pageView) bool {
	r := l.topics.peek(view.topic)
	switch {
	case r == nil:
		return false
	case view.topic == backend.DevicesTopic: // which contains invisible users too
		return !r.has(backend.MemberOf(view.user.ID, view.device.ID))
	}
	return cmp.Or(view.user.Status, l.users.chosen(view.user.ID)).Base() != presence.Invisible && !r.has(view.user.ID)
}

// missed handles notices that this node may have missed. Other nodes publish again what they published within
// the last minute. No node repeats earlier sign-outs. So this node ends the streams of users, whose pages
// come back and are identified again, and it restores no page views, because their users may have signed out.
//
// If the gap was short, this node writes again what it holds. Its topics may not find the loss, since those
// that found an earlier one are waiting for the nodes and then accept what the store has. And a node without
// topics has page views all the same.
//
// Example: Redis restarts with a file in which Alice is online, and node A writes that she is busy. Half a
// second later Redis fails over, and loses that.
func (l *leases) missed(ago time.Duration) {
	l.outage.lostData(time.Now())
	l.notices.lost()
	l.choices.republish()
	l.life.spawn(func(ctx context.Context) {
		try, cancel := context.WithTimeout(ctx, connectWait)
		defer cancel()
		// Published before the others. Its Ago lets a node that reads it later know when the loss was.
		_ = l.notices.publish(try, backend.Notice{Kind: backend.NoticeLost, Lasting: true, Ago: time.Millisecond})
		_ = l.seal.agree(try)
	})
	if ago < publishedFor {
		l.restoreSoon()
		return
	}
	l.users.doubtAllViews()
	for _, c := range append(l.users.all(), l.users.allVisits()...) {
		if c.visitor.SignedIn() {
			c.conn.finish(presence.ErrStale, graced)
		}
	}
}

// hearLost handles the notice of another node that the store has lost data. This node restores what it holds,
// since it may not have noticed the loss, and waits for the others. A node that began after the loss gives
// the others the same time.
//
// Example with a TTL of 3 s and a grace of 1 s. Redis is wiped at 12:00:00, and node B begins at 12:00:01.
// Alice, who has a page at node A, closes another one at node B at 12:00:02. Node A waits until 12:00:03 to
// learn what she chose. If node B knew nothing of the loss, it would sweep her grace before.
func (l *leases) hearLost(ago time.Duration) {
	at := time.Now().Add(-ago)
	if l.outage.lostData(at) {
		l.choices.askFrom(at)
		l.restoreSoon()
	}
}
