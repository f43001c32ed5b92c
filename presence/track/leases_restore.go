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
// notices. Each has its moment, so the order does not matter, and a lease that the store still has is only
// renewed. The node hears all notices first, so that it restores no user who signed out. restore returns an error if it
// cannot hear them.
func (l *leases) restore(ctx context.Context) error {
	if err := l.choices.hearAll(ctx); err != nil {
		return err
	}
	l.notices.lost()
	l.visits.Reset(restoreFor(l.cfg.shortestTTL()))
	_ = l.seal.agree(ctx) // if this fails, the next check of the secret repeats it
	for _, view := range l.users.liveViews() {
		if !l.hasLeft(view) {
			l.viewed(view)
		}
	}
	for _, c := range l.users.all() {
		l.guests.count(c)
		if held := c.heldTopics(); len(held) > 0 {
			l.join(c, held, nil)
		}
	}
	return nil
}

// restoreSoon runs restore in the background, until it succeeds.
func (l *leases) restoreSoon() {
	l.life.spawn(func(ctx context.Context) {
		for l.restore(ctx) != nil && wait.For(ctx, backoffFirst) {
		}
	})
}

// reassertSoon runs reassert in the background.
func (l *leases) reassertSoon() { l.life.spawn(l.reassert) }

// Leases are renewed in parts, so that joins and leaves need not wait behind all of them. Those of 50,000
// connections take two seconds.
const (
	reassertAtOnce = 500
	reassertPause  = 20 * time.Millisecond
)

// reassert renews the leases of all connections here at once. For a page that must beat, it renews them for
// the rest of the TTL since its latest beat. Leases that have expired or were swept are made again: see
// rejoin.
func (l *leases) reassert(ctx context.Context) {
	for part := range slices.Chunk(append(l.users.all(), l.users.allVisits()...), reassertAtOnce) {
		for _, c := range part {
			if c.holds() {
				l.reassertOne(c)
			}
		}
		if !wait.For(ctx, reassertPause) {
			return
		}
	}
}

// reassertOne renews the leases of a connection, each for as long as the latest proof of life allows, or a
// quarter of the TTL longer, because a store handles heartbeats of equal length together. After an outage in
// which leases may have expired, it also keeps the lease of a page that has been silent for longer, if its
// user is still shown here: the page may beat at other nodes, and repeats a failed beat only after ten
// seconds.
func (l *leases) reassertOne(h *holder) {
	if h.conn.Err() != nil {
		return
	}
	doubt := l.outage.leasesMayHaveExpired()
	for _, topic := range h.heldTopics() {
		ttl := l.cfg.ttl(topic)
		left := ttl
		if h.beat.Load() {
			left -= time.Since(time.Unix(0, h.beaten.Load())).Truncate(ttl / 4)
		}
		if left <= 0 && doubt && l.topics.shown(topic, h.member(topic)) != "" {
			left = ttl
		}
		if left > 0 {
			l.writer.add(topic, backend.Op{Kind: backend.OpHeartbeat, User: presence.User{ID: h.member(topic)}, Holder: l.users.leaseHolder(h), For: left})
		}
	}
}

// visitAgain makes the leases of visits again. By now the nodes of the connections have made theirs, with the profiles of
// the users.
//
// Example: Carol has a stream at node A. Node B renders her next page at 12:00:00, and the page joins the stream by a beat that
// comes to node C. Redis is wiped at 12:01:00. Node A makes the lease of the stream again, and node B that of the page
// view. If node C did not tell of the beat, Carol would be online until 12:05:00 even if her machine loses its power at
// 12:02:00.
func (l *leases) visitAgain(ctx context.Context) {
	for part := range slices.Chunk(l.users.allVisits(), reassertAtOnce) {
		l.keepAll(part)
		if !wait.For(ctx, reassertPause) {
			return
		}
	}
}

func (l *leases) keepAll(visits []*holder) {
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	for _, h := range visits {
		for _, topic := range h.heldTopics() {
			if keep, held := l.users.keepLocked(h, topic); held {
				keep.For = l.cfg.ttl(topic) // the length of a lease that is made
				l.writer.put(topic, keep)
			}
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
	l.outage.lostData()
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
			c.conn.finish(presence.ErrStale, backend.OpRelease)
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
	if l.outage.heardLoss(at) {
		l.choices.askFrom(at.Add(choicesWait))
		l.restoreSoon()
	}
}
