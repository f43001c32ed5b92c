package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// leases keeps in the store what this node holds: page views, and the leases of its connections. It renews
// them, makes them again if they are gone, and restores all after the store lost its data.
type leases struct {
	cfg        *Config
	life       *lifetime
	stats      *counters
	store      backend.Store
	outage     *outage
	writer     *writer
	users      *users
	topics     *topics
	notices    *notices
	seal       *seal
	guests     *guestCounts
	choices    *choices
	generation *generation
	nodeLease  *nodeLease
	again      *time.Timer // writes all once more
	visits     *time.Timer // makes the leases of visits again, after the latest restore

	mu        leasesMutex
	gone      map[goneLease]struct{} // leases that heartbeats found gone
	rejoining bool                   // a goroutine makes the gone leases again
}

type goneLease struct {
	topic  presence.Topic
	member presence.UserID
}

// begin completes a leases whose fields for other parts are set.
func (l *leases) begin() *leases {
	l.gone = make(map[goneLease]struct{})
	l.visits = time.AfterFunc(time.Hour, func() { l.life.spawn(l.visitAgain) })
	l.visits.Stop()
	l.again = time.AfterFunc(time.Hour, l.rewriteSoon)
	l.again.Stop()
	return l
}

// viewed writes page views of a user. It skips views that hold no longer, and those before a
// sign-out of the user or the end of the device's session.
func (l *leases) viewed(views ...pageView) { l.viewedSince(time.Time{}, views...) }

// viewedSince is viewed for views that take the place of what held the user until a moment.
func (l *leases) viewedSince(since time.Time, views ...pageView) {
	if len(views) == 0 {
		return
	}
	l.choices.resolve(views[0].user, func(now resolved) { // called with users.mu held
		for _, view := range views {
			records, at := l.users.records, later(since, view.at)
			if time.Since(view.at) < l.cfg.Age && !records.viewsEndedAt(now.ID).After(at) && records.endedAt(backend.MemberOf(now.ID, view.device.ID)).Before(view.at) {
				seen := backend.Op{Kind: backend.OpSeen, User: now.in(view.topic, view.device), For: l.cfg.Age - at.Sub(view.at)}
				l.writer.put(view.topic, operation{Op: seen, at: at})
			}
		}
	})
}

// guestSignedIn removes a guest from a topic, and makes every node remove the guest from the topics of the
// guest's streams there.
//
// Example: a guest has a page of thread:1 open at node A, and signs in. The next page, at node B, calls this
// for the site while the old page's stream is still open. Node B removes the guest from the site. Node A
// hears the notice and removes the guest from both topics of the stream, after any count of the guest that
// waits in its writer. The stream then never counts again, neither at half of the age period nor after a
// wipe.
func (l *leases) guestSignedIn(topic presence.Topic, guest string) {
	if guest == "" {
		return
	}
	l.guests.forget(topic, guest)
	l.guests.showSoon(append(l.forgetStreaming(guest), topic)...)
	l.guests.tell(guest)
}

// hearSignedIn removes a guest who signed in at some node: mostly in the site.
func (l *leases) hearSignedIn(guest string) {
	l.guests.showSoon(append(l.forgetStreaming(guest), siteOf(presence.UserID(guest)))...)
}

// forgetStreaming removes a guest from the topics of the guest's streams at this node, and keeps these
// streams from counting the guest again. It returns the topics.
func (l *leases) forgetStreaming(guest string) (topics []presence.Topic) {
	for _, c := range l.users.connectionsOfGuest(guest) {
		topics = append(topics, l.guests.forgetIn(c)...)
	}
	return topics
}

// join makes the lease for a connection in each topic, unless the connection has ended or left the topic. made is
// nil for leases that are made again. Otherwise made gets the user as others see the user, and the ack of
// each lease. If the connection has ended, the release of the lease is written after it, or was written
// already. A lease is made again also for a page that is silent, if its beats come to other nodes, as these have said, or its
// user is shown here, or hides. These nodes can keep only whom a connection holds, and do not write what the user chose.
func (l *leases) join(c *holder, topics []presence.Topic, made func(resolved, []*ack)) {
	l.choices.resolveFor(c, c.visitor.User, func(now resolved) { // called with users.mu held
		var acks []*ack
		c.held.leased = true
		c.inName.Store(l.generation.n.Load())
		whole := len(topics) == len(c.heldTopics())
		for _, topic := range topics {
			if !l.users.holdsLocked(c, topic) { // a sign-out came first
				continue
			}
			join, held := l.users.joinLocked(c, topic, now)
			hides := join.User.Status.Base() == presence.Invisible
			if made == nil && !held && !hides && !c.strays.Load() && l.topics.shown(topic, c.member(topic)) == "" {
				whole = false
				continue
			}
			if made != nil {
				acks = append(acks, l.writer.putAcked(topic, join))
			} else {
				l.writer.put(topic, join)
			}
		}
		if whole {
			c.renewedNow()
		}
		if made != nil {
			made(now, acks)
		}
	})
}

// joinLocked is keepLocked with the user as others see the user, for a lease that the store may not have.
func (p *users) joinLocked(c *holder, topic presence.Topic, user resolved) (join operation, held bool) {
	join, held = p.keepLocked(c, topic)
	join.Kind, join.User, join.For = backend.OpJoin, user.in(topic, c.visitor.Device), p.lengthOf(c, topic)
	join.at = later(join.at, c.held.opened)
	if c.held.opened.IsZero() { // it joins now
		join.at = time.Now()
		u := p.byID[c.visitor.User.ID]
		join.fresh = join.Pages == 1 && u != nil && u.released[topic].IsZero()
	}
	return join, held
}

// release ends what a connection held of its user in a topic, after it ended or left the topic: at once by OpDrop, or by
// OpRelease with a grace. While another page here holds the user there, the lease stays.
func (l *leases) release(h *holder, topic presence.Topic, kind backend.OpKind, grace time.Duration) {
	release := operation{Op: releaseOf(h.member(topic), leaseHolder(h), kind, grace)}
	switch kind {
	case opLeave:
		release.Kind, release.For = backend.OpRelease, 0
	case opGiveUp, backend.OpRelease:
		release.Kind = backend.OpRelease
		release.of = &h.visitor
		release.identified = l.users.identified(h)
	}
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	if keep, held := l.users.keepLocked(h, topic); held {
		l.writer.put(topic, keep)
		return
	}
	if kind == opGiveUp && l.writer.giveUp(topic, release.User.ID, release.Holder) {
		return
	}
	l.writer.put(topic, release)
}

// countGuests counts the guests of the connections here again, before the store forgets them.
func (l *leases) countGuests(ctx context.Context) {
	for wait.For(ctx, l.cfg.Age/2) {
		for _, c := range l.users.all() {
			l.guests.count(c)
		}
	}
}

// rejoin makes a lease again that a heartbeat found gone, because the store lost it, this node was out of
// reach for longer than the TTL, or the user signed out. It first hears every notice that was published
// before, so that a user who signed out stays out.
//
// Example: node B cannot reach Redis from 12:00:00 to 12:00:20. Alice signs out at node A at 12:00:05. B's
// next heartbeat finds her lease gone. B hears the sign-out first, ends her connection, and so has nothing to
// make again.
//
// The lease of a visit is made again by the page's next beat, or after a restore.
func (l *leases) rejoin(topic presence.Topic, op backend.Op) {
	if op.Holder != ownPages {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone[goneLease{topic, op.User.ID}] = struct{}{}
	if !l.rejoining {
		l.rejoining = true
		l.life.spawn(l.rejoinAll)
	}
}

func (l *leases) rejoinAll(ctx context.Context) {
	for {
		l.mu.Lock()
		gone := l.gone
		l.gone, l.rejoining = make(map[goneLease]struct{}), len(gone) > 0
		l.mu.Unlock()
		if len(gone) == 0 {
			return
		}
		if !l.hear(ctx) {
			return
		}
		for lease := range gone {
			if c := l.users.holderOf(lease.topic, lease.member); c != nil {
				l.join(c, []presence.Topic{lease.topic}, nil)
			}
		}
	}
}
