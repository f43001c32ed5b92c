package track

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// An apart is a member whom readers here see otherwise than the store has it: because of what its user chose, see
// topic_hidden.go, or because the store lost data. What they see is derived: see seen. Who learns anything that may change that
// makes the topic look again.
//
// After a loss the roster here stands still until every node has had time to restore its
// leases, and then what the store has counts. Without this rule a wipe would make every user leave and come back, and a failover
// that lost the latest writes would bring back users who have left.
//
//	data lost   reload                               settled
//	    │          │                                    │
//	────┴──────────┴────────────────────────────────────┴──▶
//	    the store has lost the user:  stay listed ─────▶│ leave
//	    the store has an old lease:   stay out ────────▶│ join
//
// It is settled after settleFor, by default 13 s: then every node has restored its leases, and sweeps have ended those that no node
// holds any more (see generation). These do not wait for it:
//   - A listed user whose leave the store's log tells, as news, leaves at once. This node was out of reach meanwhile.
//   - A user whom the store lost leaves at once if the user signed out or hides: no node restores the lease, and the store reports no leave.
//   - A diff about a user counts.
//   - Who is out joins at once if a connection of this node holds the user.
//
// Example: Redis is wiped at 12:00:00, and reloads are at 12:00:03. Alice's node restored her lease at 12:00:02: readers see nothing
// of it. Bob's node was stopped at 12:00:01: he stays, and leaves at 12:00:16. Another day Carol leaves at 11:59:59, and at 12:00:00
// Redis fails over to a copy that still has her: she stays out. Her lease ends with the earlier generation of its node by 12:00:11,
// so she never appears.
//
// While there are any, each version has a name that only this node uses: see nextVersion.
type apart struct {
	stored *entry    // what the store has; nil: nothing
	stands bool      // readers see what they saw when the store lost data
	counts bool      // what the store has counts, although this node knows that the user hides
	since  time.Time // zero: readers saw what the store had
}

// seen says what readers are to see of a member; nil: nothing. shown is what they see now.
func (r *replica) seen(id presence.UserID, a apart, shown *entry) *entry {
	switch chosen, _ := r.records.last(id); { // of devices there is none
	case a.stands && shown != nil && !chosen.hides() && !r.signedOut(shown):
		return r.narrowed(shown, a, shown)
	case a.stored == nil, a.stands && !chosen.shown.After(a.since), chosen.hides() && !a.counts:
		return nil
	}
	return r.narrowed(a.stored, a, shown)
}

// see is seen. It notes whether the store has the member otherwise.
func (r *replica) see(id presence.UserID, a apart, shown *entry) *entry {
	is, l := r.seen(id, a, shown), &r.ledger
	if (is == nil) == (a.stored == nil) && (is == nil || is.Visibility.Equal(a.stored.Visibility)) {
		delete(l.apart, id)
		return is
	}
	if len(l.apart) == 0 {
		l.apart = make(map[presence.UserID]apart)
		r.settleAfter(r.settleFor())
	}
	if a.since.IsZero() {
		a.since = time.Now()
	}
	l.apart[id] = a
	return is
}

// stand makes the roster that was just read from the store the one of readers, who had another one until then, and returns the
// difference. This node knew the topic completely until latest: who came before that and is not listed has left. gone has the users
// whose leave is in the log. A second loss starts the period again.
func (r *replica) stand(readers roster, latest int64, gone map[presence.UserID]backend.Departure) net {
	l, now := &r.ledger, time.Now()
	was, stored := l.apart, l.roster.copy()
	l.apart = nil
	stored.byID.Scan(func(e *entry) bool {
		shown := readers.get(e.ID)
		old := latest > 0 && shown == nil && (r.signedOut(e) || e.Since.UnixNano() <= latest)
		if is := r.see(e.ID, apart{stored: e, stands: old, since: now}, shown); is == nil {
			l.roster.remove(e.ID)
		} else if is != e {
			l.roster.set(is)
		}
		return true
	})
	left := func(e *entry) (l backend.Departure, is bool) { // by the log; without last seen of who is unseen
		l, is = gone[e.ID]
		return l, is && (l.LastSeen.IsZero() || l.LastSeen.After(e.Since))
	}
	readers.byID.Scan(func(e *entry) bool {
		_, gone := left(e)
		a := apart{stands: !gone, since: now}
		if before, is := was[e.ID]; is && before.stored == nil {
			a.since = before.since
		}
		if stored.get(e.ID) != nil {
			return true
		}
		if is := r.see(e.ID, a, e); is != nil {
			l.roster.set(is)
		}
		return true
	})
	n := difference(readers, l.roster)
	for i, d := range n.leaves {
		var told bool
		if n.leaves[i], told = left(readers.get(d.ID)); !told {
			n.leaves[i] = r.departure(d.ID, now)
		}
	}
	return n
}

// look makes readers see members as this node knows their users now.
func (r *replica) look(ids ...presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.ledger.loaded() {
		r.lookLocked(ids...)
	}
}

func (r *replica) lookLocked(ids ...presence.UserID) {
	v := version{local: true}
	for _, id := range ids {
		shown := r.ledger.get(id)
		a, is := r.ledger.apart[id]
		if !is {
			a.stored = shown
		}
		c := rosterChange{id: id, after: r.see(id, a, shown), left: r.departure(id, a.since)}
		if chosen, _ := r.records.last(id); shown == nil && c.after != nil && chosen.shown.After(c.after.Since) { // who hid comes as others do
			m := c.after.Member
			m.Since = chosen.shown
			c.after = newEntry(m)
		}
		r.ledger.change(&v, c)
	}
	if len(v.changes) > 0 {
		v.id = r.nextVersion()
		r.ledger.history.add(v)
		r.publishPendingLocked()
	}
}

// departure returns the leave of a user who hides, or of one who was last seen at a moment, unless the user may have turned unseen
// since (rule 5 of [backend.Store]).
func (r *replica) departure(id presence.UserID, seen time.Time) backend.Departure {
	left, devices := backend.Departure{ID: id}, r.out.topic == backend.DevicesTopic
	switch c, _ := r.records.last(ownerIn(r.out.topic, id)); {
	case c.hides() && devices:
		left.LastSeen = c.at
	case c.hides() && !c.Unseen():
		left.LastSeen = cmp.Or(c.at, time.Now())
	case !c.hides() && r.cfg.Directory == nil:
		left.LastSeen = seen
	}
	return left
}

// oldFor is how long the store may have something that was ended: until a lease that nobody renews has expired and was swept.
// Sweeps wait while the nodes restore.
func (r *replica) oldFor() time.Duration {
	return max(r.kind.TTL, restoreFor(r.kind.TTL)) + restoreWait
}

// settleFor is how long a roster stands still: until the nodes have restored their leases, earlier generations
// and dead processes have lapsed, and a sweep could end what hung on them.
func (r *replica) settleFor() time.Duration {
	return max(restoreFor(r.kind.TTL), r.cfg.NodeTTL) + 2*restoreWait
}

// settleAfter makes settle run once, in place of the time that was set before.
func (r *replica) settleAfter(d time.Duration) {
	if r.settling != nil {
		r.settling.Stop()
	}
	r.settling = time.AfterFunc(d, r.settle)
}

// settle makes what the store has count, but for users who hide. For these it counts once the store has not learned it for as long as
// anything old may last there: then it knows of a later choice. If the store was out again, no node could
// restore anything, so the nodes get the time anew. The same holds if the store lost its data again, which a
// replica cannot notice if the topic was still empty.
func (r *replica) settle() {
	trusted, settled := r.outage.trustedFor(), r.settleFor()
	if r.outage.soundFor() == 0 { // for example a store that refuses sweeps: nothing ends there
		trusted = 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed || len(r.ledger.apart) == 0:
	case trusted < settled:
		r.settleAfter(settled - trusted)
	case r.watch.resyncing: // a reload is under way, which may restore users or find a new loss
		r.settleAfter(time.Second)
	default:
		for id, a := range r.ledger.apart {
			a.stands, a.counts = false, time.Since(a.since) >= r.oldFor()
			r.ledger.apart[id] = a
		}
		if r.lookLocked(slices.Sorted(maps.Keys(r.ledger.apart))...); len(r.ledger.apart) > 0 {
			r.settleAfter(settled)
		}
	}
}

// nextVersion returns a name for a version that exists only in this process. Another one, also of this node, answers a reader of it
// with a state. The name contains a hash of the name of the process.
func (r *replica) nextVersion() presence.DiffID {
	hash := fnv.New32a()
	hash.Write([]byte(r.process))
	id := fmt.Sprintf("%s-%x-%x", r.ledger.head, hash.Sum32(), r.names.Add(1))
	return presence.DiffID(id[max(len(id)-wire.MaxDiffIDLen, 0):])
}

// nameLocked names what is published by a version of this node alone.
func (r *replica) nameLocked() {
	r.ledger.history.add(version{id: r.nextVersion(), local: true})
	r.ledger.published = r.ledger.history.end()
}
