package track

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// An operation is a waiting [backend.Op], with additional information for the writer.
type operation struct {
	backend.Op

	at    time.Time // when it happened: see date
	until time.Time // for an OpRelease: when the grace ends

	of         *presence.Visitor // for an OpRelease with a grace: whose page closed; otherwise nil
	identified time.Time         // when that visitor was identified

	order int  // its place among the operations of the topic
	sent  bool // it may have been applied

	fresh bool // for an OpJoin: the store cannot have the lease, unless the operation was sent
}

// endsAtOnce reports whether the end of a connection leaves no grace.
func (op operation) endsAtOnce() bool {
	return op.Kind == backend.OpDrop || op.Kind == backend.OpRelease && op.For == 0
}

// pending has the operations that wait to be written to one topic. Those of different users may be written in any order.
type pending struct {
	lists   map[opKey]queue // of each user; and of each guest, each bot, and the topic's record
	count   int             // number of operations
	latest  int             // the order of the latest operation
	members ownDevices      // in backend.DevicesTopic: the devices that have or had operations
	acks    []*ack          // closed when the operations were applied
	ackRoom int             // number of acks at which those that nobody waits for are dropped
	tries   int             // how often the store refused the operations
	after   time.Time       // earliest time of the next try

	planned bool      // due is set
	due     time.Time // when they must be written, by the pace of the topic
	touched time.Time // when the latest operation was added
	changes bool      // there are operations that are not heartbeats
}

// ownDevices are members of backend.DevicesTopic, by the user to whom they belong.
type ownDevices map[presence.UserID][]presence.UserID

// An opKey identifies what an operation is about: a lease, a guest, a bot, or the topic's record.
type opKey struct {
	user   presence.UserID
	holder presence.Holder
	guest  string
	bot    string
	peak   bool
}

// An ack tells what happened to one operation.
type ack struct {
	key  opKey
	done chan struct{} // closed when the operation was applied or dropped
	gone bool          // after done: it was a heartbeat whose lease is gone
	err  error         // after done: why it was dropped
	left atomic.Bool   // nobody waits for it any more
}

// leave notes that nobody waits for acks any more.
func leave(acks []*ack) {
	for _, a := range acks {
		a.left.Store(true)
	}
}

// expect adds an ack. It drops those that nobody waits for once they may be half of all.
func (p *pending) expect(a *ack) {
	if len(p.acks) >= p.ackRoom {
		p.acks = slices.DeleteFunc(p.acks, func(a *ack) bool { return a.left.Load() })
		p.ackRoom = max(16, 2*len(p.acks))
	}
	p.acks = append(p.acks, a)
}

// acknowledge closes all acks. unknown are the heartbeats and keeps whose lease is gone.
func (p *pending) acknowledge(unknown []backend.Op) {
	gone := make(map[opKey]bool, len(unknown))
	for _, op := range unknown {
		gone[keyOf(op)] = true
	}
	for _, a := range p.acks {
		a.gone = gone[a.key]
		close(a.done)
	}
}

// fail closes all acks, because the operations were dropped.
func (p *pending) fail(err error) {
	for _, a := range p.acks {
		a.err = err
		close(a.done)
	}
}

func newPending() *pending {
	return &pending{lists: make(map[opKey]queue)}
}

func keyOf(op backend.Op) opKey {
	switch op.Kind {
	case backend.OpGuest, backend.OpForgetGuest:
		return opKey{guest: op.Guest}
	case backend.OpBot:
		return opKey{guest: op.Guest, bot: op.Bot}
	case backend.OpPeak, backend.OpResetPeak:
		return opKey{peak: true}
	case backend.OpSeen:
		op.Holder = presence.HolderWeb
	}
	return opKey{user: op.User.ID, holder: op.Holder}
}

// subjectOf returns the key of the list that an operation is in.
func subjectOf(op backend.Op) opKey {
	key := keyOf(op)
	key.holder = ""
	return key
}

// size returns how many operations wait.
func (p *pending) size() int { return p.count }

// of returns a user's operations.
func (p *pending) of(user presence.UserID) queue { return p.lists[opKey{user: user}] }

// holds reports whether an operation of a user waits.
func (p *pending) holds(user presence.UserID) bool { return len(p.of(user)) > 0 }

// set replaces the operations of a subject.
func (p *pending) set(subject opKey, list queue) {
	p.count += len(list) - len(p.lists[subject])
	if len(list) == 0 {
		delete(p.lists, subject)
	} else {
		p.lists[subject] = list
	}
}

// add merges an operation into those that wait, and returns how many more there are now.
func (p *pending) add(op operation) (grown int) {
	had, subject := p.count, subjectOf(op.Op)
	list, known := p.lists[subject]
	if owner, _ := backend.OwnerOf(subject.user); owner != subject.user && !known && !slices.Contains(p.members[owner], subject.user) {
		if p.members == nil {
			p.members = make(ownDevices)
		}
		p.members[owner] = append(p.members[owner], subject.user)
	}
	p.latest++
	op.order = p.latest
	p.set(subject, list.add(op))
	return p.count - had
}

// all returns all operations in their order, but heartbeats at the end, where a store can apply them together. The effect
// is the same, because no operation of a heartbeat's holder comes after the heartbeat.
func (p *pending) all() queue {
	waiting := make([]*operation, 0, p.count) // sorting pointers moves less memory
	for _, list := range p.lists {
		for i := range list {
			waiting = append(waiting, &list[i])
		}
	}
	slices.SortFunc(waiting, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(beatLast(a), beatLast(b)), cmp.Compare(a.order, b.order))
	})
	all := make(queue, len(waiting))
	for i, op := range waiting {
		all[i] = *op
	}
	return all
}

// A queue has operations in their order. They are those of one user, except where a function says otherwise.
type queue []operation

// add merges an operation into those that wait.
func (l queue) add(op operation) queue {
	switch op.Kind {
	case backend.OpResetPeak: // it makes all earlier operations pointless
		l = l[:0]
	case backend.OpSignOut:
		l = slices.DeleteFunc(l, func(o operation) bool { return o.voidedBy(op) })
	case backend.OpJoin: // the latest word about the lease
		waiting := len(l)
		l = slices.DeleteFunc(l, func(o operation) bool {
			return (o.Kind == backend.OpRelease || o.Kind == backend.OpDrop) && o.Holder == op.Holder
		})
		op.fresh = op.fresh && len(l) == waiting
	case backend.OpRelease, backend.OpDrop:
		remains := true
		if l, remains = l.end(op); !remains {
			return l
		}
	}
	return l.merge(op)
}

// merge merges an operation into the latest one of its key, or appends it.
func (l queue) merge(op operation) queue {
	i := len(l) - 1
	for key := keyOf(op.Op); i >= 0 && keyOf(l[i].Op) != key; i-- {
	}
	if i < 0 {
		return append(l, op)
	}
	old, last := l[i], i == len(l)-1
	op.fresh = op.fresh && old.fresh
	switch {
	case !last && old.isChoice() && op.isChoice(): // behind joins of before, which the store may not have applied yet
		if op.User.Status == old.User.Status && op.User.Visibility.Equal(old.User.Visibility) {
			op.at = old.at
		}
		l = slices.Delete(l, i, i+1)
	case merge(&l[i], op, last):
		l[i].order, l[i].sent = old.order, old.sent
		return l
	case op.Kind == backend.OpSeen && old.Kind == backend.OpSeen:
		end := later(op.at.Add(op.For), old.at.Add(old.For))
		op.at = later(op.at, old.at)
		op.For = end.Sub(op.at)
		l = slices.Delete(l, i, i+1)
	}
	return append(l, op)
}

// voidedBy reports whether a sign-out makes a waiting operation pointless. The end of a connection stays: another
// connection may have joined since the sign-out, so that it does not end the lease.
func (op operation) voidedBy(signOut operation) bool {
	switch op.Kind {
	case backend.OpRelease, backend.OpDrop, backend.OpSignOff:
		return false
	}
	return !op.at.After(signOut.at)
}

// merge replaces old by one operation with the effect of old and op together, and reports whether there is
// one. last says that no other operation of the user came between old and op.
func merge(old *operation, op operation, last bool) bool {
	switch {
	case op.Kind == backend.OpGuest, op.Kind == backend.OpForgetGuest, op.Kind == backend.OpBot: // only the latest of a guest or bot counts
		*old = op
	case op.Kind == backend.OpPeak:
		if old.Kind != backend.OpPeak { // except for a reset of the record
			return false
		}
		old.Peak = old.Peak.Better(op.Peak)
	case op.Kind == backend.OpSignOff: // which connections remain depends on the order
		if !last || old.Kind != backend.OpSignOff {
			return false
		}
		*old = op
	case (old.Kind == backend.OpJoin || old.Kind == backend.OpKeep) && op.Kind == backend.OpHeartbeat:
		old.For = max(old.For, op.For)
	case (old.Kind == backend.OpJoin || old.Kind == backend.OpKeep) && op.Kind == backend.OpKeep:
		old.For, old.Idle, old.Pages, old.at = max(old.For, op.For), op.Idle, op.Pages, later(old.at, op.at)
	case old.Kind == backend.OpHeartbeat && op.Kind == backend.OpKeep:
		op.For = max(op.For, old.For)
		*old = op
	case old.Kind == backend.OpKeep && op.endsAtOnce(): // a release is not merged, because the grace gets the idleness of the lease
		*old = op
	case old.Kind == backend.OpRelease && op.Kind == backend.OpRelease:
		op.until = later(op.until, old.until)
		op.For = max(op.For, old.For)
		*old = op
	case old.Kind == backend.OpUpdate && op.Kind == backend.OpUpdate && op.User.StatusOnly():
		if old.User.Status != op.User.Status || !old.User.Visibility.Equal(op.User.Visibility) {
			old.User.Status, old.User.Visibility, old.at = op.User.Status, op.User.Visibility, op.at
		}
		old.User.Rev = op.User.Rev
	case op.Kind == backend.OpSeen: // see queue.merge
		return false
	case op.Kind == backend.OpUpdate: // the newest profile wins; and an update after a sign-out is no sign-out
		if !last || old.Kind != op.Kind && old.Kind != backend.OpHeartbeat {
			return false
		}
		*old = op
	case old.Kind == backend.OpJoin && op.Kind == backend.OpJoin:
		if !last && !old.User.SameProfile(op.User) {
			return false
		}
		op.at = later(op.at, old.at)
		*old = op
	case old.Kind == op.Kind,
		old.Kind == backend.OpHeartbeat, // the operation after it makes or ends the lease
		old.Kind == backend.OpKeep && op.Kind == backend.OpJoin,
		old.Kind == backend.OpJoin && op.endsAtOnce():
		*old = op
	default:
		return false // for example a join and its release: the user stays for the grace
	}
	return true
}

// batch returns the operations in the form in which they are written now.
func (p *pending) batch(now time.Time) []backend.Op {
	ops := p.all()
	for _, list := range p.lists {
		for i := range list {
			list[i].sent = true
		}
	}
	date(ops, now)
	written := make([]backend.Op, len(ops))
	for i := range ops {
		written[i] = ops[i].Op
	}
	return written
}

// lateGrace is the least length of a grace that begins after an outage. By its end, the nodes have noticed
// that the store is back, and a node to which the user has moved holds the user.
const lateGrace = returningFor + backoffLast

// date tells the store when each operation happened. It subtracts from each grace the time for which the release waited for
// the store, so that pages which closed in an outage do not look open for a whole grace after its end.
func date(ops []operation, now time.Time) {
	for i := range ops {
		op, ago := &ops[i], now.Sub(ops[i].at).Truncate(time.Millisecond)
		switch op.Kind {
		case backend.OpJoin, backend.OpKeep, backend.OpSignOut, backend.OpSignOff:
			op.Ago = max(ago, 0)
		case backend.OpSeen:
			op.Ago = max(ago, 0)
			op.For -= op.Ago
		case backend.OpUpdate:
			if ago >= time.Second && op.User.Status.Base() == presence.Invisible {
				op.Ago = ago
			}
		case backend.OpRelease:
			if ago >= time.Second { // shorter times are ignored, so that equal operations can be applied together
				op.Ago = ago.Truncate(time.Second)
			}
			if left := op.until.Sub(now); !op.until.IsZero() && op.For-left >= time.Second { // as before
				op.For = max(left.Round(time.Second), min(op.For, lateGrace))
			}
		}
	}
}

func beatLast(op *operation) int {
	if op.Kind == backend.OpHeartbeat {
		return 1
	}
	return 0
}

// isChoice reports whether an operation changes a user's choice alone.
func (op *operation) isChoice() bool { return op.Kind == backend.OpUpdate && op.User.StatusOnly() }

// updateOf returns the operation that changes a user's choice: see [presence.User.StatusOnly].
func updateOf(user presence.User) backend.Op {
	return backend.Op{Kind: backend.OpUpdate, User: user}
}

// releaseOf returns the operation that ends a lease: by OpRelease or OpDrop.
func releaseOf(user presence.UserID, holder presence.Holder, kind backend.OpKind, grace time.Duration) backend.Op {
	return backend.Op{Kind: kind, User: presence.User{ID: user}, Holder: holder, For: grace}
}
