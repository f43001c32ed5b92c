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

// restore gives a store that lost data back what it may have lost of this node, in the
// order in which it happened, since rule 6 asks for it: page views, connections and notices;
// and, once the other nodes have done so too, which connections ended lately. A lease that
// the store still has is only renewed. The node hears all notices first, so that it restores no user who signed out.
// It returns an error where it cannot hear them.
//
// While the nodes wait for one another (see provisional), all leases are renewed once more,
// because a store may lose again what was just restored, and this node may not notice. Example:
// Redis is wiped. Node B reads the empty topic, and then makes Alice's lease again, whose diff is
// lost on its way to B. Redis fails over to a copy that is still empty: B finds there what it
// knows.
func (l *leases) restore(ctx context.Context) error {
	if err := l.choices.hearAll(ctx); err != nil {
		return err
	}
	l.again.Reset(restoreWait + restoreFor(l.cfg.shortestTTL())/2)
	l.notices.lost()
	_ = l.seal.agree(ctx) // if it fails, the next look at the secret finds out
	l.ends.Reset(restoreFor(l.cfg.shortestTTL()))
	events := append(l.viewEvents(), l.connectionEvents()...)
	slices.SortFunc(events, func(a, b restoreEvent) int { return a.at.Compare(b.at) })
	for _, e := range events {
		e.repeat()
	}
	return nil
}

// losses are the losses of data that topics find, and that leases restore.
type losses chan loss

// A loss is one that was found, and is waited for.
type loss struct {
	ctx      context.Context
	restored chan error
}

// restore returns once this node has written again what it holds and the store may have lost.
func (l losses) restore(ctx context.Context) error {
	found := loss{ctx, make(chan error, 1)}
	select {
	case l <- found:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-found.restored:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// restoreEach restores each loss that a topic finds, until ctx ends.
func (l *leases) restoreEach(ctx context.Context, found losses) {
	for {
		select {
		case <-ctx.Done():
			return
		case one := <-found:
			l.life.spawn(func(context.Context) { one.restored <- l.restore(one.ctx) })
		}
	}
}

// restoreSoon is restore in the background, until it goes well.
func (l *leases) restoreSoon() {
	l.life.spawn(func(ctx context.Context) {
		for l.restore(ctx) != nil && wait.For(ctx, backoffFirst) {
		}
	})
}

// reassertSoon is reassert in the background.
func (l *leases) reassertSoon() { l.life.spawn(l.reassert) }

// Leases are renewed in parts, so that joins and leaves need not wait behind those of all
// connections: of 50,000 within two seconds.
const (
	reassertAtOnce = 500
	reassertPause  = 20 * time.Millisecond
)

// reassert renews the leases of all connections here at once: of those whose page must beat,
// the ones whose page has, for what is left of the TTL. Leases that have expired, or were
// swept, are made again: see rejoin.
func (l *leases) reassert(ctx context.Context) {
	for part := range slices.Chunk(l.users.all(), reassertAtOnce) {
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

// reassertOne renews the leases of a connection, each for as long as the latest proof of life says, or a quarter
// of the TTL longer: a store takes heartbeats of one length together. After an outage in which
// leases may have expired, a user who is still shown here keeps the lease of a page that has been
// silent for longer: it may beat at other nodes, and sends a beat that failed again only after
// ten seconds.
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
			l.writer.add(topic, backend.Op{Kind: backend.OpHeartbeat, User: presence.User{ID: h.member(topic)}, Holder: h.id, For: left})
		}
	}
}

// A restoreEvent is something that happened here, and that the store may have lost.
type restoreEvent struct {
	at     time.Time
	repeat func()
}

func (l *leases) viewEvents() (events []restoreEvent) {
	l.users.liveViews(func(view pageView) {
		events = append(events, restoreEvent{view.at, func() {
			if !l.hasLeft(view) {
				l.viewed(view)
			}
		}})
	})
	return events
}

func (l *leases) connectionEvents() (events []restoreEvent) {
	for _, c := range l.users.all() {
		opened := l.users.openedAt(c) // zero: its join waits in the writer
		events = append(events, restoreEvent{opened, func() {
			l.guests.count(c)
			if held := c.heldTopics(); len(held) > 0 {
				l.join(c, held, nil)
			}
		}})
	}
	return events
}

// endAgain ends leases again that the store may have again, and holds their users for what
// is left of the grace. It waits until all nodes have had time to renew their leases, because a
// release first removes its user's expired leases (rule 1).
//
// Example: Alice moved from a page at this node to one at node B. Redis starts again with an older
// file, in which her lease here has expired, and the one at node B is missing. If this node released
// its lease before node B makes the other one, that would announce her leave, and then her join.
func (l *leases) endAgain() {
	if l.life.over() {
		return
	}
	if early := restoreFor(l.cfg.shortestTTL()) - l.outage.soundFor(); early > 0 {
		l.ends.Reset(early)
		return
	}
	l.users.ended(func(key leaseKey, end leaseEnd) { // with users.mu held
		grace, kind := l.cfg.grace(key.topic)-time.Since(end.at), end.kind
		if grace <= 0 || kind == opLeave {
			kind = backend.OpDrop
		}
		l.writer.add(key.topic, releaseOf(end.member, key.holder, kind, grace))
	})
	l.life.spawn(l.followAgain)
}

// followAgain tells the store again when the latest page joined each connection here. All nodes
// have restored their page views by now, also after they restored connections that are later.
//
// Example: node A rendered Carol's page at 12:00:00, and her stream was opened at node B at
// 12:00:01. Redis is wiped at 12:01:00. Node B makes the lease of the stream again, and then node
// A that of the page view. If that stayed the later one, Carol would be online until 12:05:00
// even if her machine loses its power at 12:02:00.
func (l *leases) followAgain(ctx context.Context) {
	for part := range slices.Chunk(l.users.joins(), reassertAtOnce) {
		for _, f := range part {
			left := l.viewFor(f.at)
			if left <= lateView { // no page view before it holds any more
				continue
			}
			for _, topic := range f.topics {
				l.writer.add(topic, backend.Op{Kind: backend.OpFollow, User: presence.User{ID: f.member(topic)}, Holder: f.id, For: time.Millisecond, ViewFor: left})
			}
		}
		if !wait.For(ctx, reassertPause) {
			return
		}
	}
}

// viewFor returns for how long a page view of a moment still holds its user.
func (l *leases) viewFor(at time.Time) time.Duration { return l.cfg.Age - time.Since(at) + lateView }

// lateView is how much later than it was the store may take a page view to be: that was written by
// another node, which was busy.
const lateView = time.Second

// hasLeft reports whether the user of a page view that would still hold is known to have
// left: the view stopped holding when a stream closed, on any node.
func (l *leases) hasLeft(view pageView) bool {
	r := l.topics.peek(view.topic)
	switch {
	case r == nil:
		return false
	case view.topic == backend.DevicesTopic: // which has invisible users too
		return !r.has(backend.MemberOf(view.user.ID, view.device.ID))
	}
	return cmp.Or(view.user.Status, l.users.chosen(view.user.ID)).Base() != presence.Invisible && !r.has(view.user.ID)
}

// missed handles notices that this node may have missed. Other nodes publish again what
// they published within the last minute. No node repeats earlier sign-outs: so the streams
// of users end, their pages come back and are identified again, and page views are not
// restored, because their users may have signed out.
//
// This node writes again what it holds, if it missed but a moment. Its topics may not find the loss: those that
// found an earlier one wait for the nodes, and then take what the store has. And a node that follows no
// topic has page views all the same.
//
// Example: Redis starts again with a file in which Alice is online, and node A writes that she is busy. Half a
// second later Redis fails over, and loses that.
func (l *leases) missed(ago time.Duration) {
	l.outage.lostData()
	l.notices.lost()
	l.choices.republish()
	l.life.spawn(func(ctx context.Context) {
		try, cancel := context.WithTimeout(ctx, connectWait)
		defer cancel()
		// Before all that is published again. With an age, so that whoever reads it later knows when it was.
		_ = l.notices.publish(try, backend.Notice{Kind: backend.NoticeLost, Lasting: true, Ago: time.Millisecond})
		_ = l.seal.agree(try)
	})
	if ago < publishedFor {
		l.restoreSoon()
		return
	}
	l.users.removeAllViews()
	for _, c := range l.users.all() {
		if c.visitor.SignedIn() {
			c.conn.finish(presence.ErrStale, backend.OpRelease)
		}
	}
}

// hearLost takes a node's word that the store has lost data: this node restores what it holds,
// since it may not have noticed, and waits for the others. One that began after the loss gives them
// as much time for that as they take.
//
// Example with a TTL of 3 s and a grace of 1 s. Redis is wiped at 12:00:00, and node B begins at
// 12:00:01. Alice, who has a page at node A, closes another one at node B at 12:00:02. Node A waits
// until 12:00:03 for what she chose. If node B did not know why, it would sweep her grace before.
func (l *leases) hearLost(ago time.Duration) {
	at := time.Now().Add(-ago)
	if l.outage.heardLoss(at) {
		l.choices.askFrom(at.Add(choicesWait))
		l.restoreSoon()
	}
}
