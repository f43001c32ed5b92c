package track

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A provisional holds the users about whom this node and a store that lost data disagree,
// until every node has had time to restore its leases. Until then the topic's roster here
// is provisional. Without this rule a wipe would make every user leave and come
// back, and a failover that lost the latest writes would bring back users who have left.
//
//	catchUp = min(TTL, 7 s)                  at least 4.5 s: every node has restored its leases
//	admitAt = reload + TTL + restoreWait     (see admitFor) by default 46.5 s later: leases that nobody renews
//	                                         have expired and have been swept
//
//	data lost   reload                reload + catchUp                 admitAt
//	    │          │                        │                             │
//	────┴──────────┴────────────────────────┴─────────────────────────────┴──────▶
//	    missing:   stay listed ────────────▶│ leave
//	    revived:   stay out ─────────────────────────────────────────────▶│ join
//
// The reload compares the roster here with the one that the store still has:
//   - A user who is listed here and not there is missing. The user stays listed, and
//     leaves after catchUp unless a node restored the lease.
//   - A listed user whose leave the store's log tells, as news, leaves at once. This node was out of
//     reach meanwhile.
//   - A user who left here and is there again with an old lease is revived. Who came before
//     the latest diff that this node had, and is not listed, has left. The user
//     stays out, and joins at admitAt if the lease still exists, which shows that its
//     holder renews it. If the user connects to this node, the user joins at once.
//   - A listed user who signed out, or became invisible, is removed at once. No node
//     restores the lease, and the store cannot report a leave of a user that it lost. A missing
//     device shows what its user chose since.
//   - A user who became invisible, and whose leave the store does not report, is removed after
//     hidesWithin, also before the reload. Where the store still has the user, the user is then
//     a revived one.
//   - Every other change is published at once. A later diff about a missing or revived
//     user is published too, and ends the doubt.
//
// Example: Redis is wiped at 12:00:00, and reloads are at 12:00:03. Alice's node restored
// her lease at 12:00:02: readers see nothing of it. Bob's node was stopped at 12:00:01:
// he is missing, and leaves at 12:00:10. Another day Carol leaves at 11:59:59, and at
// 12:00:00 Redis fails over to a copy that still has her: she is revived. Her lease
// expires by 12:00:45 and is swept by 12:00:46. admitAt is 12:00:49.5, so she never appears.
//
// While users are missing or revived, each version has a name that only this node
// uses: see nextVersion.
type provisional struct {
	missing  map[presence.UserID]missingUser
	revived  map[presence.UserID]*entry           // as the store has them
	leaving  map[presence.UserID]struct{}         // listed users who signed out or became invisible, until the store reports the leave
	chosen   map[presence.UserID]chosenVisibility // what listed users chose, until the store reports it
	active   bool                                 // the history has versions of a provisional roster
	versions int32                                // that nextVersion has named
	began    time.Time                            // with the latest loss of data
	admitAt  time.Time                            // when the revived are admitted
	timer    *time.Timer                          // the next deadline
}

// A missingUser is listed here, and lost by the store.
type missingUser struct {
	entry *entry
	left  backend.Departure // the leave to publish if no node restores the user
}

// admitFor is how long a revived user stays out: until a lease with a TTL that nobody renews has
// expired and has been swept. Nobody sweeps while the nodes restore what was lost, which with a short
// TTL takes longer than the lease.
func admitFor(ttl time.Duration) time.Duration { return max(ttl, restoreFor(ttl)) + restoreWait }

// open reports whether any user is missing or revived.
func (p *provisional) open() bool { return len(p.missing)+len(p.revived) > 0 }

// begin takes the changes that lead from the roster here to the one of a store that
// lost data. It returns the changes to publish now, and notes the users of the rest as
// missing or revived. Whoever came until latest, and is not listed, has left: this node knew all of
// the topic until then. A second loss starts the period again.
// gone are users whose leave the log tells.
func (p *provisional) begin(n net, listed roster, latest int64, gone map[presence.UserID]backend.Departure, ttl time.Duration) net {
	missing := p.missing
	p.missing, p.revived = make(map[presence.UserID]missingUser), make(map[presence.UserID]*entry)
	var certain net
	for _, l := range n.leaves {
		if _, ok := p.leaving[l.ID]; ok {
			delete(p.leaving, l.ID)
			certain.leaves = append(certain.leaves, l)
			continue
		}
		e := listed.get(l.ID)
		if left := gone[l.ID]; left.LastSeen.After(e.Since) {
			certain.leaves = append(certain.leaves, left)
			continue
		}
		if was, ok := missing[l.ID]; ok {
			l = was.left
		}
		if chosen, chose := p.chosen[l.ID]; chose {
			e = e.seenAs(chosen.Visibility)
			certain.joins = append(certain.joins, e)
		}
		p.missing[l.ID] = missingUser{e, l}
	}
	for _, e := range n.joins {
		if listed.get(e.ID) == nil && e.Since.UnixNano() <= latest {
			p.revived[e.ID] = e
		} else {
			delete(p.chosen, e.ID)
			certain.joins = append(certain.joins, e)
		}
	}
	p.active, p.began = p.open(), time.Now()
	p.admitAt = time.Now().Add(admitFor(ttl))
	return certain
}

// overlay makes a store's roster the provisional one: with the missing, without the
// revived.
func (p *provisional) overlay(r roster) {
	for _, m := range p.missing {
		r.set(m.entry)
	}
	for id := range p.revived {
		r.remove(id)
	}
}

// decide forgets the users of a diff: none of them is missing, revived or leaving now.
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
	delete(p.revived, id)
	delete(p.leaving, id)
	p.forgetChosen(id)
}

// mayWait reports whether a roster whose store was out again, or lost data again, may stay
// provisional. Since a moment nodes can restore. A store that fails now and then after it ends the
// wait after two TTLs.
func (p *provisional) mayWait(sound, ttl time.Duration, since time.Time) bool {
	return p.open() && (sound == 0 || time.Since(later(p.began, since)) < 2*ttl)
}

// postpone has the revived wait until the leases that nobody renews have expired, and sweeps that have
// waited for the nodes to restore theirs have removed them.
func (p *provisional) postpone(expired time.Duration) {
	if at := time.Now().Add(expired + restoreWait); at.After(p.admitAt) {
		p.admitAt = at
	}
}

// expire returns the changes that are due: missing users leave, and once admitAt has
// passed revived users join. For those who still wait it also returns how long.
func (p *provisional) expire() (n net, wait time.Duration) {
	for _, m := range p.missing {
		n.leaves = append(n.leaves, m.left)
	}
	clear(p.missing)
	if wait = time.Until(p.admitAt); wait > 0 && len(p.revived) > 0 {
		return n, wait
	}
	for _, e := range p.revived {
		n.joins = append(n.joins, e)
	}
	clear(p.revived)
	return n, 0
}

// expectLeave marks a listed user as leaving, in case the store loses the user before
// it reports the leave.
func (p *provisional) expectLeave(id presence.UserID) {
	if p.leaving == nil {
		p.leaving = make(map[presence.UserID]struct{})
	}
	p.leaving[id] = struct{}{}
}

// nextVersion names a version that only this node has. Another node that is asked for
// it answers with a state. Nodes are told apart by a hash of their whole name.
func (p *provisional) nextVersion(head presence.DiffID, node string) presence.DiffID {
	p.versions++
	hash := fnv.New32a()
	hash.Write([]byte(node))
	id := fmt.Sprintf("%s-%x-%x", head, hash.Sum32(), p.versions)
	return presence.DiffID(id[max(len(id)-wire.MaxDiffIDLen, 0):])
}

// after runs fn after a duration, instead of what was to run before.
func (p *provisional) after(d time.Duration, fn func()) {
	p.stop()
	p.timer = time.AfterFunc(d, fn)
}

func (p *provisional) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// expectLeave marks a user as signed out or invisible. If the store has lost the user,
// there is no other leave: it is published now.
func (r *replica) expectLeave(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() || r.ledger.partial() || r.ledger.get(id) == nil {
		return
	}
	if !r.hideMissingLocked(id) {
		r.provisional.expectLeave(id)
	}
}

// hideMissing publishes the leave of a user who became invisible and whom the store has lost.
func (r *replica) hideMissing(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hideMissingLocked(id)
}

func (r *replica) hideMissingLocked(id presence.UserID) (missing bool) {
	m, missing := r.provisional.missing[id]
	if !missing || r.closed {
		return missing
	}
	r.publishPendingLocked()
	delete(r.provisional.missing, id)
	r.decideLocked(net{leaves: []backend.Departure{m.left}})
	return true
}

// seenAs returns the entry with another visibility.
func (e *entry) seenAs(v *presence.Visibility) *entry {
	m := e.Member
	m.Visibility = v
	return newEntry(m)
}

// admit lists a revived user who has just connected to this node, or chose to be visible.
func (r *replica) admit(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.provisional.revived[id]; e != nil && !r.closed {
		r.publishPendingLocked()
		delete(r.provisional.revived, id)
		r.decideLocked(net{joins: []*entry{e}})
	}
}

// expireProvisional runs at a deadline of the provisional roster. While the store was out again
// no node could restore anything: so the time that the nodes have for it begins again. So it does
// where the store lost its data again, which a replica of a topic that was still empty cannot see.
func (r *replica) expireProvisional() {
	sound, restore := r.outage.soundFor(), restoreFor(r.kind.TTL)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case sound < restore && r.provisional.mayWait(sound, r.kind.TTL, r.outage.restoringSince()) && !r.closed:
		r.provisional.postpone(max(r.kind.TTL, restore) - sound)
		r.provisional.after(restore-sound, r.expireProvisional)
	case r.closed || !r.provisional.open():
	case r.watch.resyncing: // a reload may restore users, or lose more
		r.provisional.after(time.Second, r.expireProvisional)
	default:
		r.publishPendingLocked()
		n, wait := r.provisional.expire()
		if wait > 0 {
			r.provisional.after(wait, r.expireProvisional)
		}
		r.decideLocked(n)
	}
}

// decideLocked publishes what was decided about users who were missing or revived. The
// caller has published pending diffs before, because they still belong to a provisional
// version and carry its name.
func (r *replica) decideLocked(n net) {
	r.ledger.decide(n)
	if !r.provisional.open() {
		r.endProvisionalLocked()
	} else if n.empty() {
		return
	}
	r.publishLocked(n)
}

// endProvisionalLocked restarts the history. Its versions count missing users as present
// and revived users as absent, which readers from another node saw otherwise.
func (r *replica) endProvisionalLocked() {
	r.provisional.active = false
	r.ledger.restartHistory(r.ledger.head)
}
