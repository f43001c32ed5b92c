package presence

import (
	"cmp"
	"slices"
	"time"
)

// pending is the operations that wait to be written to one topic, in order, merged by user
// and holder.
type pending struct {
	ops    []Op
	latest map[opKey]int  // index of the latest op of a key
	last   map[UserID]int // index of a user's latest op
	acks   []*ack         // closed when the operations were applied
	sent   bool           // they may have been applied
	tries  int            // times that the store refused them
	after  time.Time      // earliest time of the next try

	planned bool      // due is set
	due     time.Time // when they are written, by the pace of the topic
	touched time.Time // when the latest came
	changes bool      // not all are heartbeats
}

// An opKey names what an operation is about: a lease, a guest, a bot, or the topic's record.
type opKey struct {
	user   UserID
	holder Holder
	guest  string
	bot    string
	peak   bool
}

// An ack says what became of one operation.
type ack struct {
	key  opKey
	done chan struct{} // closed when the operation was applied or dropped
	gone bool          // after done: it was a heartbeat, and its lease is gone
	err  error         // after done: why it was dropped
}

// has reports whether an operation of a user is among them.
func (p *pending) has(user UserID) bool {
	_, found := p.last[user]
	return found
}

// acknowledge closes all acks. unknown is the indexes of the heartbeats whose lease is gone.
func (p *pending) acknowledge(ops []Op, unknown []int) {
	gone := make(map[opKey]bool, len(unknown))
	for _, i := range unknown {
		gone[keyOf(ops[i])] = true
	}
	for _, a := range p.acks {
		a.gone = gone[a.key]
		close(a.done)
	}
}

// fail closes all acks: the operations were dropped.
func (p *pending) fail(err error) {
	for _, a := range p.acks {
		a.err = err
		close(a.done)
	}
}

func newPending() *pending {
	return &pending{latest: make(map[opKey]int), last: make(map[UserID]int)}
}

func keyOf(op Op) opKey {
	switch op.Kind {
	case OpGuest, OpForgetGuest:
		return opKey{guest: op.Guest}
	case OpBot:
		return opKey{guest: op.Guest, bot: op.Bot}
	case OpPeak, OpResetPeak:
		return opKey{peak: true}
	case OpSeen:
		op.Holder = HolderWeb
	}
	return opKey{user: op.User.ID, holder: op.Holder}
}

// add merges an operation into those that wait, and returns how many more there are now.
func (p *pending) add(op Op) (grown int) {
	had, key := len(p.ops), keyOf(op)
	switch op.Kind {
	case OpSignOut:
		p.forget(func(o Op) bool { return o.User.ID == op.User.ID }) // a guest's operation names no user
	case OpSignOff: // order would put the heartbeat behind it
		p.forget(func(o Op) bool { return (o.Kind == OpHeartbeat || o.Kind == OpAttend) && keyOf(o) == key })
	case OpResetPeak:
		p.forget(func(o Op) bool { return keyOf(o).peak })
	}
	if i, ok := p.latest[key]; ok && merge(&p.ops[i], op, i == p.last[op.User.ID]) {
		return len(p.ops) - had
	}
	p.append(key, op)
	return len(p.ops) - had
}

func (p *pending) append(key opKey, op Op) {
	p.latest[key] = len(p.ops)
	p.last[op.User.ID] = len(p.ops)
	p.ops = append(p.ops, op)
}

// merge makes one operation of two with the same key, if their effect is the same. last
// says that no other operation of the user came between them.
func merge(old *Op, op Op, last bool) bool {
	switch {
	case op.Kind == OpGuest, op.Kind == OpForgetGuest, op.Kind == OpBot: // of one guest the latest counts
		*old = op
	case op.Kind == OpPeak:
		if old.Kind != OpPeak { // a record that is started anew
			return false
		}
		old.Peak = old.Peak.Better(op.Peak)
	case op.Kind == OpSignOff: // which connections are left depends on what came first
		return last && old.Kind == OpSignOff
	case op.Kind == OpFollow: // rule 6 asks what came first
		if !last || old.Kind != OpHeartbeat && old.Kind != OpFollow {
			return false
		}
		*old = op
	case (old.Kind == OpJoin || old.Kind == OpFollow) && op.Kind == OpHeartbeat:
	case old.Kind == OpAttend && op.Kind == OpHeartbeat:
		old.For = max(old.For, op.For)
	case old.Kind == OpAttend && op.Kind == OpAttend:
		old.For, old.Idle = max(old.For, op.For), op.Idle
	case old.Kind == OpJoin && op.Kind == OpAttend:
		old.Idle = op.Idle
	case old.Kind == OpAttend && op.Kind == OpDrop: // but a release makes a grace that is as idle
		*old = op
	case old.Kind == OpUpdate && op.Kind == OpUpdate && op.User.StatusOnly():
		old.User.Status = op.User.Status
	case op.Kind == OpSeen || op.Kind == OpUpdate:
		// Rule 6 asks what came first; among profiles the newest wins; and an
		// update after a sign-out is no sign-out.
		if !last || old.Kind != op.Kind && old.Kind != OpHeartbeat {
			return false
		}
		*old = op
	case old.Kind == OpJoin && op.Kind == OpJoin:
		if !last && !old.User.SameProfile(op.User) {
			return false
		}
		*old = op
	case old.Kind == op.Kind,
		old.Kind == OpHeartbeat, // the operation after it makes or ends the lease
		old.Kind == OpJoin && op.Kind == OpDrop:
		*old = op
	default:
		return false // such as a join and its release: the user stays for the grace
	}
	return true
}

// forget drops the operations that a later one makes pointless, such as a sign-out those of
// its user.
func (p *pending) forget(pointless func(Op) bool) {
	ops := p.ops
	p.ops = nil
	clear(p.latest)
	clear(p.last)
	for _, op := range ops {
		if !pointless(op) {
			p.append(keyOf(op), op)
		}
	}
}

// order puts heartbeats behind the rest, where a store can apply them together. The effect
// stays the same: no operation of a heartbeat's holder comes after the heartbeat.
func (p *pending) order() {
	slices.SortStableFunc(p.ops, func(a, b Op) int {
		return cmp.Compare(beatLast(a), beatLast(b))
	})
	clear(p.latest)
	clear(p.last)
	for i, op := range p.ops {
		p.latest[keyOf(op)] = i
		p.last[op.User.ID] = i
	}
}

// renew puts before each release the lease that it ends. It is for operations that waited while
// the store was out: the lease may have expired, and an expired lease gets no grace (rule 5). A
// release of a lease that this node cannot renew is left out: the lease ends by itself.
//
// Example: Alice closes a tab as Redis hangs, and opens the next page at node B. A minute later
// Redis goes on. Node A's release comes first. Without her lease she would leave at once, and
// come back with B's join.
func (p *pending) renew() {
	ops, joined := p.ops, make(map[opKey]bool)
	p.ops = make([]Op, 0, len(ops))
	clear(p.latest)
	clear(p.last)
	for _, op := range ops {
		key := keyOf(op)
		if op.Kind == OpRelease && !joined[key] {
			if op.lease == nil {
				continue
			}
			p.append(key, *op.lease)
		}
		if op.Kind == OpJoin {
			joined[key] = true
		}
		p.append(key, op)
	}
}

// lateGrace is how long a grace goes on at least that begins after an outage: until the nodes
// have found the store back, and a user who went on at another one is held there.
const lateGrace = returningFor + backoffLast

// shorten takes from each grace the time that its release has waited for the store. So pages
// that closed in an outage do not look open for a whole grace after its end.
func (p *pending) shorten(now time.Time) {
	for i := range p.ops {
		op := &p.ops[i]
		left := op.until.Sub(now)
		if op.Kind == OpRelease && op.For-left >= time.Second { // else it is one length with the others
			op.For = max(left.Round(time.Second), min(op.For, lateGrace))
		}
	}
}

func beatLast(op Op) int {
	if op.Kind == OpHeartbeat {
		return 1
	}
	return 0
}
