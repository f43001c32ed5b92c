package track

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A writer collects operations for a few milliseconds, merges them by topic, user and
// holder, and has a flusher apply them in one call of the store. Adding never waits. Operations that
// the store cannot take now are kept, and applied when it is back.
type writer struct {
	stats *counters

	kick  wait.Wakeup   // something was added
	retry wait.Wakeup   // the store was found back: what failed is tried again
	done  chan struct{} // closed when run returned

	mu        writerMutex
	topics    map[presence.Topic]*pending
	flying    map[presence.Topic]*pending   // what is being written
	preparing map[presence.Topic]ownDevices // of what was taken and is not flying yet
	forgotten []forgetting                  // since it was taken
	ops       int                           // that wait in topics
	shares    map[presence.UserID]int       // of each user in ops; nil: not counted
	pace      writerPace
	alarm     *time.Timer // wakes run when operations that wait for their pace are due
	last      bool        // nothing waits any more: the writer ends
	max       int         // maxPending, and less in tests
}

// maxPending is how many operations, and how many notices of each sort, wait while the store
// is out.
const maxPending = 100_000

// Once half of max operations wait, whoever has more than one part in shareParts of max waiting
// gets no more: so nobody pushes out the page views of others.
const shareParts = 50

// A batch that the store refuses is tried this often, with this pause.
const (
	maxTries     = 5
	refusedPause = 200 * time.Millisecond
)

func newWriter(stats *counters) *writer {
	w := &writer{
		stats:  stats,
		topics: make(map[presence.Topic]*pending),
		kick:   wait.NewWakeup(),
		retry:  wait.NewWakeup(),
		done:   make(chan struct{}),
		pace:   writerPace{topics: make(map[presence.Topic]pace)},
		max:    maxPending,
	}
	w.alarm = time.AfterFunc(time.Hour, w.kick.Wake)
	w.alarm.Stop()
	return w
}

// add takes an operation. Over its bound it drops page views, guests, bots, heartbeats
// and records, because later ones take their place, or the store forgets the guest by
// itself. It keeps joins and the ends of connections and users: there are not more of them
// than connections and users here, because connections of users are refused meanwhile, and
// those that came and went while they waited leave one: see full and writer_ends.go.
func (w *writer) add(topic presence.Topic, op backend.Op) { w.put(topic, operation{Op: op}) }

// put is add for an operation of which more is known.
func (w *writer) put(topic presence.Topic, op operation) {
	w.mu.Lock()
	w.putLocked(topic, op)
	w.mu.Unlock()
	w.kick.Wake()
}

// addAcked is add, and returns an ack.
func (w *writer) addAcked(topic presence.Topic, op backend.Op) *ack {
	return w.putAcked(topic, operation{Op: op})
}

// putAcked is put, and returns an ack.
func (w *writer) putAcked(topic presence.Topic, op operation) *ack {
	a := &ack{key: keyOf(op.Op), done: make(chan struct{})}
	w.mu.Lock()
	if p := w.putLocked(topic, op); p != nil {
		p.expect(a)
	} else {
		a.err = presence.ErrStoreOut
		close(a.done)
	}
	w.mu.Unlock()
	w.kick.Wake()
	return a
}

// await waits until the operations of all acks were applied. It returns ErrClosed, the
// error of ctx, or why an operation was given up.
func (w *writer) await(ctx context.Context, acks ...*ack) error {
	defer leave(acks)
	for _, a := range acks {
		select {
		case <-a.done:
			if a.err != nil {
				return a.err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-w.done:
			return presence.ErrClosed
		}
	}
	return nil
}

// addForeign is add for the release of another node's connection. Clients may send more of
// these than there are connections here, so the bound holds for them too.
func (w *writer) addForeign(topic presence.Topic, op backend.Op) {
	w.mu.Lock()
	if w.fullLocked(op.User.ID) {
		w.stats.dropped.Add(1)
	} else {
		w.putLocked(topic, operation{Op: op})
	}
	w.mu.Unlock()
	w.kick.Wake()
}

// putLocked takes an operation, and returns the pending operations that it is one of now;
// nil if it was dropped.
func (w *writer) putLocked(topic presence.Topic, op operation) *pending {
	if droppable(op.Op) && w.fullLocked(op.User.ID) {
		w.stats.dropped.Add(1)
		return nil
	}
	p := w.topics[topic]
	if p == nil {
		p = newPending()
		w.topics[topic] = p
	}
	if op.Kind == backend.OpRelease && op.until.IsZero() {
		op.until = time.Now().Add(op.For)
	}
	w.grewLocked(op.User.ID, p.add(op))
	w.pace.plan(topic, p, op.Kind)
	return p
}

// grewLocked counts operations of a user that wait.
func (w *writer) grewLocked(user presence.UserID, n int) {
	w.ops += n
	if w.shares != nil {
		owner, _ := backend.OwnerOf(user)
		w.shares[owner] += n
	}
}

// countLocked counts pending operations that came or went: sign is 1 or -1.
func (w *writer) countLocked(p *pending, sign int) {
	w.ops += sign * p.size()
	w.shares = nil
}

// fullLocked reports whether the writer drops what it may of a user: see add. Each user has a
// share; what names no user has none.
func (w *writer) fullLocked(user presence.UserID) bool {
	switch {
	case w.ops >= w.max:
		return true
	case user == "" || w.ops < w.max/2:
		return false
	}
	if w.shares == nil {
		w.shares = make(map[presence.UserID]int)
		for _, p := range w.topics {
			for i := range p.ops {
				if p.ops[i].Kind != 0 {
					owner, _ := backend.OwnerOf(p.ops[i].User.ID)
					w.shares[owner]++
				}
			}
		}
	}
	owner, _ := backend.OwnerOf(user)
	return w.shares[owner] > w.max/shareParts
}

// droppable reports whether nothing lasting goes wrong where the operation is lost.
func droppable(op backend.Op) bool {
	switch op.Kind {
	case backend.OpSeen, backend.OpGuest, backend.OpForgetGuest, backend.OpBot, backend.OpHeartbeat, backend.OpFollow, backend.OpPeak:
		return true
	}
	return false
}

// giveUp removes a join that was not sent yet. It reports whether there was one.
func (w *writer) giveUp(topic presence.Topic, join backend.Op) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.topics[topic]
	if p == nil {
		return false
	}
	had := p.size()
	given := p.giveUp(join)
	w.grewLocked(join.User.ID, p.size()-had)
	return given
}

// full reports whether the writer drops what it may of a user: see add. Then new connections of
// the user are refused.
func (w *writer) full(user presence.UserID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fullLocked(user)
}

func (w *writer) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ops
}

// end has all that waits be due.
func (w *writer) end() {
	w.mu.Lock()
	w.last = true
	w.mu.Unlock()
	w.alarm.Stop()
}

// signOut takes back what waits of a user's connections that closed, from before the user signed out at
// a moment as some visitors: their leases ended with the sign-out, and must not be renewed.
func (w *writer) signOut(user presence.UserID, at time.Time, of func(presence.Visitor) bool) {
	w.forget(user, func(p *pending, member presence.UserID) { p.signOut(member, at, of) })
}

// forgetViews forgets page views until a moment that wait, of a user or of a device.
func (w *writer) forgetViews(of presence.UserID, at time.Time) {
	w.forget(of, func(p *pending, member presence.UserID) { p.forgetViews(member, at) })
}

// A forgetting takes back some of what waits of a user and of the user's devices.
type forgetting struct {
	user presence.UserID
	some func(p *pending, member presence.UserID)
}

// in takes it back in a topic.
func (f forgetting) in(p *pending, grew func(presence.UserID, int)) {
	for _, member := range append([]presence.UserID{f.user}, p.members[f.user]...) {
		had := p.size()
		f.some(p, member)
		grew(member, p.size()-had)
	}
}

// forget calls some with all that waits of a user and of the user's devices; and with what is being
// written, if the store does not take it.
//
// Example: Alice closes a page at node A, whose call of Redis hangs. Meanwhile she signs out at node B.
// The call fails. What A writes again has nothing that shows her.
func (w *writer) forget(user presence.UserID, some func(p *pending, member presence.UserID)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := forgetting{user, some}
	for _, p := range w.topics {
		f.in(p, w.grewLocked)
	}
	if len(w.preparing)+len(w.flying) > 0 {
		w.forgotten = append(w.forgotten, f)
	}
}

// setFlying says what is being written.
func (w *writer) setFlying(topics map[presence.Topic]*pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flying, w.preparing = topics, nil; topics == nil {
		w.forgotten = nil
	}
}

// holding returns the topics in which an operation of a user waits, or is being written; and
// those of which the writer is putting operations in order. devices are the user's members of
// backend.DevicesTopic.
func (w *writer) holding(user presence.UserID, devices []presence.UserID) (topics []presence.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	topics = slices.Collect(maps.Keys(w.preparing))
	for _, some := range []map[presence.Topic]*pending{w.topics, w.flying} {
		for topic, p := range some {
			if slices.ContainsFunc(membersIn(topic, user, devices), p.holds) {
				topics = append(topics, topic)
			}
		}
	}
	return topics
}

// writes reports whether an operation of a user, other than of a device, waits or may be on its way.
func (w *writer) writes(user presence.UserID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.preparing) > 0 { // whose users are not known
		return true
	}
	for _, some := range []map[presence.Topic]*pending{w.topics, w.flying} {
		for _, p := range some {
			if p.holds(user) {
				return true
			}
		}
	}
	return false
}

// devicesOf returns the members of backend.DevicesTopic of a user of which operations wait, or are being
// written.
func (w *writer) devicesOf(user presence.UserID) (members []presence.UserID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	members = slices.Clone(w.preparing[backend.DevicesTopic][user])
	for _, some := range []map[presence.Topic]*pending{w.topics, w.flying} {
		if p := some[backend.DevicesTopic]; p != nil {
			members = append(members, p.members[user]...)
		}
	}
	return members
}

// take returns what is to be written now, by topic.
func (w *writer) take() map[presence.Topic]*pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	topics, next := w.topics, time.Time{}
	w.topics, w.ops, w.shares = make(map[presence.Topic]*pending), 0, nil
	for topic, p := range topics {
		if p.size() == 0 {
			p.acknowledge(nil, nil)
			delete(topics, topic)
			continue
		}
		due := p.dueAt()
		if p.after.After(now) || due.After(now) && !w.last {
			w.topics[topic] = p
			w.countLocked(p, 1)
			delete(topics, topic)
			if next.IsZero() || due.Before(next) {
				next = due
			}
		}
	}
	if !next.IsZero() && !w.last {
		w.alarm.Reset(next.Sub(now))
	}
	if len(topics) > 0 {
		w.preparing = make(map[presence.Topic]ownDevices, len(topics))
		for topic, p := range topics {
			w.preparing[topic] = p.members
		}
		w.pace.wrote(topics, now)
	}
	return topics
}

// keep puts operations back that the store did not take, before those that came since.
// Some may have taken effect: repeating them changes nothing (rule 12).
func (w *writer) keep(topic presence.Topic, p *pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.forgotten {
		f.in(p, func(presence.UserID, int) {})
	}
	since := w.topics[topic]
	w.topics[topic] = p
	w.countLocked(p, 1)
	if since == nil {
		return
	}
	w.countLocked(since, -1)
	for _, op := range since.ops {
		if op.Kind != 0 {
			w.putLocked(topic, op)
		}
	}
	for _, a := range since.acks {
		p.expect(a)
	}
}
