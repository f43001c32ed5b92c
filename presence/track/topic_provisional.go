package track

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A provisional holds the users about whom this node and a store that lost data disagree: the roster here stands still
// until every node has had time to restore its leases, and then what the store has counts. Without this rule a wipe
// would make every user leave and come back, and a failover that lost the latest writes would bring back users who have
// left.
//
//	data lost   reload                                settled
//	    │          │                                     │
//	────┴──────────┴─────────────────────────────────────┴──▶
//	    missing:   stay listed ────────────────────────▶│ leave
//	    withheld:  stay out ───────────────────────────▶│ join
//
// It is settled after settleFor, by default 13 s: then every node has restored its leases, and sweeps have ended those that no node
// holds any more (see generation).
//
// The reload compares the roster here with the one that the store still has:
//   - A user who is listed here and not there is missing. The user stays listed, and
//     leaves when it is settled, unless a node restored the lease.
//   - A listed user whose leave the store's log tells, as news, leaves at once. This node was out of
//     reach meanwhile.
//   - A user who left here and is there again with an old lease is withheld. Who came before
//     the latest diff that this node had, and is not listed, has left. The user
//     stays out, and joins when it is settled if something still holds the user. If a connection of this node
//     does, the user joins at once.
//   - A listed user who signed out, or hides, is removed at once: see isOut. No node restores the lease, and the store
//     cannot report a leave of a user that it lost. Who is not listed and is out is withheld.
//   - A listed device that its user hid from somebody, and that the store shows as before, is still shown as
//     hidden: see narrower.
//   - Every other change is published at once. A later diff about a missing or withheld
//     user is published too, and ends the doubt.
//
// Example: Redis is wiped at 12:00:00, and reloads are at 12:00:03. Alice's node restored
// her lease at 12:00:02: readers see nothing of it. Bob's node was stopped at 12:00:01:
// he is missing, and leaves at 12:00:16. Another day Carol leaves at 11:59:59, and at
// 12:00:00 Redis fails over to a copy that still has her: she is withheld. Her lease
// ends with the earlier generation of its node by 12:00:11, so she never appears.
//
// While users are missing or withheld, each version has a name that only this node
// uses: see nextVersion.
type provisional struct {
	missing  map[presence.UserID]missingUser
	withheld map[presence.UserID]*entry               // with their entries in the store
	narrowed map[presence.UserID]*presence.Visibility // of devices: what Views show in place of what the store has
	active   bool                                     // the history has versions of a provisional roster
	kept     bool                                     // a diff shows somebody who is withheld, and is not published yet
	versions int32                                    // the number of names that nextVersion has made
	latest   time.Time                                // when a user was last withheld
	timer    *time.Timer                              // settles
}

// A missingUser is listed here, but the store has lost the user.
type missingUser struct {
	entry *entry
	left  backend.Departure // the leave to publish if no node restores the user
}

// oldFor is how long the store may have something that was ended: until a lease that nobody renews has expired and was swept.
// Sweeps wait while the nodes restore.
func (r *replica) oldFor() time.Duration {
	return max(r.kind.TTL, restoreFor(r.kind.TTL)) + restoreWait
}

// settleFor is how long a roster stays provisional: until the nodes have restored their leases, earlier generations
// and dead processes have lapsed, and a sweep could end what hung on them.
func (r *replica) settleFor() time.Duration {
	return max(restoreFor(r.kind.TTL), r.cfg.NodeTTL) + 2*restoreWait
}

// open reports whether any user is missing or withheld.
func (p *provisional) open() bool { return len(p.missing)+len(p.withheld) > 0 }

// stand takes the changes that lead from the roster here to that of a store that lost data. It returns those to publish
// now, and notes the users of the others as missing or withheld. This node knew the topic completely until latest: who
// came before that and is not listed has left. gone has the users whose leave is in the log.
// A second loss starts the period again.
func (r *replica) stand(n net, listed roster, latest int64, gone map[presence.UserID]backend.Departure) (certain net) {
	p := &r.provisional
	missing := p.missing
	p.missing, p.withheld = make(map[presence.UserID]missingUser), make(map[presence.UserID]*entry)
	for _, l := range n.leaves {
		e, left := listed.get(l.ID), gone[l.ID]
		if was, ok := missing[l.ID]; ok {
			l = was.left
		}
		switch {
		case r.isOut(e):
			certain.leaves = append(certain.leaves, l)
		case left.LastSeen.After(e.Since):
			certain.leaves = append(certain.leaves, left)
		default:
			p.missing[l.ID] = missingUser{e, l}
		}
	}
	for _, e := range n.joins {
		was := listed.get(e.ID)
		if was == nil && (r.isOut(e) || e.Since.UnixNano() <= latest) {
			p.withheld[e.ID] = e
			continue
		}
		if was != nil && was.Visibility != nil && p.narrowed[e.ID] == nil && was.Visibility.Narrows(e.visibility()) {
			p.narrow(e.ID, was.Visibility)
		}
		certain.joins = append(certain.joins, e)
	}
	p.active, p.latest = p.open(), time.Now()
	return certain
}

// overlay turns a store's roster into the provisional one: it adds missing users, and removes withheld ones.
func (p *provisional) overlay(r roster) {
	for _, m := range p.missing {
		r.set(m.entry)
	}
	for id := range p.withheld {
		r.remove(id)
	}
}

// decide forgets the users of a diff, who are no longer missing or withheld.
func (p *provisional) decide(d backend.Diff) {
	for _, users := range [][]presence.Member{d.Joins, d.Updates} {
		for _, m := range users {
			p.forget(m.ID)
		}
	}
	for _, l := range d.Leaves {
		p.forget(l.ID)
	}
}

func (p *provisional) forget(id presence.UserID) {
	delete(p.missing, id)
	delete(p.withheld, id)
}

// settle returns the changes that are due: missing users leave, and withheld users join, except those who hide. These join
// once the store has not learned it for as long as anything old may last there: then it knows of a later choice.
func (p *provisional) settle(hides func(presence.UserID) bool, old time.Duration) (n net) {
	for _, m := range p.missing {
		n.leaves = append(n.leaves, m.left)
	}
	clear(p.missing)
	for id, e := range p.withheld {
		if !hides(id) || time.Since(p.latest) >= old {
			n.joins = append(n.joins, e)
			delete(p.withheld, id)
		}
	}
	return n
}

// nextVersion returns a name for a version that exists only on this node. Another node answers a reader of it
// with a state. The name contains a hash of the node's whole name.
func (p *provisional) nextVersion(head presence.DiffID, node string) presence.DiffID {
	p.versions++
	hash := fnv.New32a()
	hash.Write([]byte(node))
	id := fmt.Sprintf("%s-%x-%x", head, hash.Sum32(), p.versions)
	return presence.DiffID(id[max(len(id)-wire.MaxDiffIDLen, 0):])
}

func (p *provisional) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// settleAfter makes settle run once, in place of the time that was set before.
func (r *replica) settleAfter(d time.Duration) {
	r.provisional.stop()
	r.provisional.timer = time.AfterFunc(d, r.settle)
}

// signedOut publishes the leave of a member who signed out and whom the store has lost: no other leave will come.
func (r *replica) signedOut(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, missing := r.provisional.missing[id]; missing && r.isOut(m.entry) {
		r.leaveMissingLocked(id)
	}
}

func (r *replica) leaveMissingLocked(id presence.UserID) {
	if m, missing := r.provisional.missing[id]; missing && !r.closed {
		r.publishPendingLocked()
		delete(r.provisional.missing, id)
		r.decideLocked(net{leaves: []backend.Departure{m.left}})
	}
}

// settle ends a provisional roster. If the store was out again, no node could
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
	case r.closed || !r.provisional.open():
	case trusted < settled:
		r.settleAfter(settled - trusted)
	case r.watch.resyncing: // a reload is under way, which may restore users or find a new loss
		r.settleAfter(time.Second)
	default:
		r.publishPendingLocked()
		if r.decideLocked(r.provisional.settle(r.hides, r.oldFor())); r.provisional.open() {
			r.settleAfter(settled)
		}
	}
}

// decideLocked publishes decisions about users who were missing or withheld. The caller must have published
// pending diffs, because they still belong to a provisional version with its own name.
func (r *replica) decideLocked(n net) {
	r.ledger.decide(n)
	r.narrowChanged(n)
	if !r.provisional.open() {
		r.endProvisionalLocked()
	} else if n.empty() {
		return
	}
	r.publishLocked(n)
}

// endProvisionalLocked restarts the history. Its versions count missing users as present and withheld users as
// absent, but readers from another node may have seen the opposite.
func (r *replica) endProvisionalLocked() {
	r.provisional.active = false
	r.ledger.restartHistory(r.ledger.head)
}
