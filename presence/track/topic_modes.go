package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A mode says how much of a topic a replica reads.
type mode int

const (
	asFits mode = iota // a part, if the topic is large enough
	inPart
	asWhole
)

// A hold keeps what a partial replica shows after a loss of data, until nodes have restored their leases.
type hold struct {
	users int // the total that is shown is at least this
	timer *time.Timer
}

func (h *hold) stop() {
	if h != nil {
		h.timer.Stop()
	}
}

// large reports whether a topic with this number of users is kept in part. was says whether it is now.
func (env *topicEnv) large(kind presence.Kind, users int, was bool) bool {
	limit := max(kind.MaxRoster, env.wholeUsers)
	switch {
	case kind.MaxRoster < 0 && !kind.CountOnly:
		return false
	case kind.CountOnly:
		limit = env.wholeUsers
	}
	return users > limit || was && users >= limit-limit/10
}

// total returns the total of the ledger's published version, to be shown. A nil hold holds nothing.
func (h *hold) total(l *ledger) int {
	switch {
	case !l.partial():
		return l.roster.len()
	case h != nil:
		return max(l.shown, h.users)
	}
	return l.shown
}

// mode returns how much of the topic a reload reads: as much as is kept now.
func (l *ledger) mode() mode {
	switch {
	case !l.loaded():
		return asFits
	case l.partial():
		return inPart
	}
	return asWhole
}

// chooseModeLocked makes the replica partial or whole, as its size demands. Everything must be published.
func (r *replica) chooseModeLocked() {
	switch was := r.ledger.partial(); {
	case r.hold != nil || r.provisional.open() || r.provisional.active || r.heard != nil:
	case r.followers > 0 || r.windows.inUse() && !r.kind.CountOnly || !r.large(r.kind, r.hold.total(&r.ledger), was):
		if was {
			r.readAgainLocked(asWhole)
		}
	case !was:
		r.ledger.shrink(newAskedUsers(r.store, r.out.topic, r.spawn), r.sampleUsers)
	case r.ledger.roster.len() < r.ledger.most/2 && r.ledger.users > r.ledger.most && time.Since(r.ledger.filled) > refillEvery:
		r.readAgainLocked(inPart)
	}
}

// readAgainLocked reads the topic in the background, without a gap. If it fails, the next
// figures try again.
func (r *replica) readAgainLocked(as mode) {
	if r.watch.resyncing {
		return
	}
	r.watch.resyncing = true
	r.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, loadTimeout)
		defer cancel()
		now, err := r.fetch(ctx, r.out.topic, r.kind, as)
		if err == nil {
			now.hides = r.concealedIn(r.out.topic, now.ledger.roster)
		}
		hides := r.concealedInReplay(now.newer)
		r.mu.Lock()
		defer r.mu.Unlock()
		defer func() { r.watch.resyncing = false }() // publishing must not start another read
		if r.closed {
			return
		}
		if err == nil {
			r.publishPendingLocked()
			r.turnLocked(now)
		}
		r.replayLocked(now.newer, hides)
	})
}

// turnLocked replaces a partial ledger by what was read: the whole, or a part again. Readers of totals see no
// join or leave: they get a total, or below the limit a state. That does not have users who became invisible, as this
// node knows.
func (r *replica) turnLocked(now stored) {
	r.hold.stop()
	r.hold = nil
	for _, id := range now.hides.gone {
		if e := now.ledger.get(id); e != nil && !now.ledger.partial() {
			r.provisional.revive(e, r.kind.TTL, r.expireProvisional)
			r.provisional.expectLeave(id)
			now.ledger.roster.remove(id)
		}
	}
	r.ledger, r.counts, r.staleSince = now.ledger, now.counts, time.Time{}
	r.extras.restart(now)
	if r.whole != nil && !r.ledger.partial() {
		close(r.whole)
		r.whole = nil
	}
	r.publishLocked(net{})
}

// holdLocked replaces a partial ledger after a gap, when data may be lost that nodes are restoring. It keeps
// the sample, the asked users and the total until they have had the time. The store has a new Since for each
// restored user.
func (r *replica) holdLocked(now stored) {
	was := r.ledger
	users := max(r.hold.total(&r.ledger), was.users)
	r.hold.stop()
	r.hold = &hold{users: users, timer: time.AfterFunc(restoreFor(r.kind.TTL), r.endHold)}
	now.ledger.roster, now.ledger.asked, now.ledger.frozen = was.roster, was.asked, true
	now.ledger.since = nobodySince
	was.asked.doubt(true)
	r.ledger, r.counts, r.staleSince = now.ledger, now.counts, time.Time{}
	r.extras.restart(now)
	r.publishLocked(net{})
}

// endHold reads the topic again once nodes have restored their leases.
func (r *replica) endHold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.hold == nil {
		return
	}
	r.hold.timer = time.AfterFunc(time.Second, r.endHold) // in case that reading fails
	r.readAgainLocked(inPart)
}

// follow keeps the replica whole for a Go program that gets each join and leave. It returns once the replica
// is whole, or ctx or its connection ends. stop ends that.
func (r *replica) follow(ctx context.Context, done <-chan struct{}) (stop func()) {
	r.mu.Lock()
	r.followers++
	var whole chan struct{}
	if r.ledger.partial() {
		if r.whole == nil {
			r.whole = make(chan struct{})
		}
		whole = r.whole
		r.chooseModeLocked()
	}
	r.mu.Unlock()
	if whole != nil {
		select {
		case <-whole:
		case <-ctx.Done():
		case <-done:
		}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.followers--
	}
}
