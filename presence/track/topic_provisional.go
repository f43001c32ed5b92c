package track

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
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
//	restored = reload + min(TTL, 7 s)        at least 4.5 s later (see restoreFor): every node has restored
//	                                         its leases
//	admitAt = reload + TTL + restoreWait     (see admitFor) by default 46.5 s later: leases that nobody renews
//	                                         have expired and have been swept
//
//	data lost   reload                   restored                      admitAt
//	    │          │                        │                             │
//	────┴──────────┴────────────────────────┴─────────────────────────────┴──────▶
//	    missing:   stay listed ────────────▶│ leave
//	    revived:   stay out ─────────────────────────────────────────────▶│ join
//
// The reload compares the roster here with the one that the store still has:
//   - A user who is listed here and not there is missing. The user stays listed, and
//     leaves then (restored) unless a node restored the lease.
//   - A listed user whose leave the store's log tells, as news, leaves at once. This node was out of
//     reach meanwhile. So does one whose leave is in a diff that waited for the reload: the store may
//     have lost its log since.
//   - A user who left here and is there again with an old lease is revived. Who came before
//     the latest diff that this node had, and is not listed, has left. The user
//     stays out, and joins at admitAt if the lease still exists, which shows that its
//     holder renews it. If a connection of this node holds the user, the user joins at once.
//   - A listed user who signed out, or became invisible, is removed at once. No node
//     restores the lease, and the store cannot report a leave of a user that it lost. If the lease
//     should have expired since, the user has come again. A missing device shows what its user
//     chose since.
//   - A user who became invisible, and whose leave the store does not report, is removed after
//     hidesWithin, also before the reload. Where the store still has the user, the user is then
//     a revived one.
//   - A listed device that its user hid from somebody, and that the store shows as before, is still shown as
//     hidden: see shownChoices.keep.
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
	revived  map[presence.UserID]*entry        // with their entries in the store
	ended    map[presence.UserID]*entry        // revived users whose page views this node has ended
	leaving  map[presence.UserID]expectedLeave // of users who signed out or became invisible, which the store has not reported; of these, who is not listed stays out
	chosen   shownChoices                      // choices of listed users that the store has not reported
	active   bool                              // the history has versions of a provisional roster
	kept     bool                              // a diff shows somebody who stays out, and is not published yet
	versions int32                             // the number of names that nextVersion has made
	began    time.Time                         // when the latest loss of data was noticed
	admitAt  time.Time                         // when revived users are admitted
	timer    *time.Timer                       // the next deadline
}

// An expectedLeave is a leave that the store has not reported.
type expectedLeave struct {
	noted time.Time // when the user signed out or became invisible, as this node heard
	sound time.Time // from when on the store may report it: noted, or when the store was last out
}

// A missingUser is listed here, but the store has lost the user.
type missingUser struct {
	entry *entry
	left  backend.Departure // the leave to publish if no node restores the user
}

// admitFor is how long a revived user stays out: until a lease that nobody renews has expired and has been
// swept. Sweeps wait while the nodes restore what was lost, which with a short TTL takes longer than the
// lease.
func admitFor(ttl time.Duration) time.Duration { return max(ttl, restoreFor(ttl)) + restoreWait }

// open reports whether any user is missing or revived.
func (p *provisional) open() bool { return len(p.missing)+len(p.revived) > 0 }

// begin takes the changes that lead from the roster here to that of a store that lost data. It returns the
// changes to publish now, and notes the users of the others as missing or revived. This node knew the topic
// completely until latest. So a user who came before that and is not listed has left. gone has the users
// whose leave is in the log, or in a diff that waited. hides has the users who became invisible, and whom the store still
// lists. A second loss starts the period again.
func (p *provisional) begin(n net, listed roster, latest int64, gone map[presence.UserID]backend.Departure, hides concealment, ttl time.Duration) net {
	missing := p.missing
	p.missing, p.revived, p.ended = make(map[presence.UserID]missingUser), make(map[presence.UserID]*entry), nil
	var certain net
	for _, l := range n.leaves {
		e, expected := listed.get(l.ID), p.expects(l.ID, ttl)
		if delete(p.leaving, l.ID); expected {
			certain.leaves = append(certain.leaves, l)
			continue
		}
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
		switch {
		case listed.get(e.ID) == nil && slices.Contains(hides.gone, e.ID):
			p.expectLeave(e.ID)
			p.revived[e.ID] = e
		case listed.get(e.ID) == nil && (e.Since.UnixNano() <= latest || p.expects(e.ID, ttl) && e.Since.Before(p.leaving[e.ID].noted)):
			p.revived[e.ID] = e
		default:
			p.chosen.keep(listed.get(e.ID), e)
			certain.joins = append(certain.joins, e)
		}
	}
	maps.DeleteFunc(p.leaving, func(id presence.UserID, _ expectedLeave) bool { return p.revived[id] == nil && listed.get(id) == nil })
	p.active, p.began = p.open(), time.Now()
	p.admitAt = time.Now().Add(admitFor(ttl))
	return certain
}

// overlay turns a store's roster into the provisional one: it adds missing users, and removes revived ones.
func (p *provisional) overlay(r roster) {
	for _, m := range p.missing {
		r.set(m.entry)
	}
	for id := range p.revived {
		r.remove(id)
	}
}

// decide forgets the users of a diff, who are no longer missing, revived or leaving.
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
	delete(p.ended, id)
	p.chosen.forget(id)
}

// mayWait reports whether a roster may stay provisional after the store was out, or lost data, once more.
// since is when nodes began to be able to restore. If the store keeps failing, the wait ends after two TTLs: with a
// short TTL, after twice the time in which nodes restore and expired leases are swept.
func (p *provisional) mayWait(sound, ttl time.Duration, since time.Time) bool {
	return p.open() && (sound == 0 || time.Since(later(p.began, since)) < 2*max(ttl, restoreFor(ttl)))
}

// postpone makes the revived users wait until leases that nobody renews have expired, and until sweeps, which
// wait for the nodes to restore, have removed them.
func (p *provisional) postpone(expired time.Duration) {
	if at := time.Now().Add(expired + restoreWait); at.After(p.admitAt) {
		p.admitAt = at
	}
}

// expire returns the changes that are due: missing users leave, and after admitAt revived users join. wait is
// the time until the rest are due.
func (p *provisional) expire() (n net, wait time.Duration) {
	for id, m := range p.missing {
		n.leaves = append(n.leaves, m.left)
		delete(p.leaving, id)
	}
	clear(p.missing)
	if wait = time.Until(p.admitAt); wait > 0 && len(p.revived) > 0 {
		return n, wait
	}
	for id, e := range p.revived {
		n.joins = append(n.joins, e)
		delete(p.leaving, id)
	}
	clear(p.revived)
	clear(p.ended)
	return n, 0
}

// expectLeave marks a listed user as leaving, in case the store loses the user before
// it reports the leave. A user who is not listed stays out.
func (p *provisional) expectLeave(id presence.UserID) {
	if p.leaving == nil {
		p.leaving = make(map[presence.UserID]expectedLeave)
	}
	p.leaving[id] = expectedLeave{time.Now(), time.Now()}
}

// expects reports whether a user is still expected to leave: a lease that nobody renews may not have been swept yet.
func (p *provisional) expects(id presence.UserID, ttl time.Duration) bool {
	return time.Since(p.leaving[id].sound) < admitFor(ttl)
}

// keepExpected keeps expecting those who are expected to leave: the store, which is out, reports no leave.
//
// Example: Redis is wiped at 12:00:00, and hangs for node b from 12:00:01 to 12:01. Alice signs out at b at 12:00:02. At
// 12:01 b finds that Redis does not know her. She has left, and is none of the users whom another node restores.
func (p *provisional) keepExpected() {
	for id, leave := range p.leaving {
		p.leaving[id] = expectedLeave{leave.noted, time.Now()}
	}
}

// forgetExpected forgets the users who are no longer expected to leave.
func (p *provisional) forgetExpected(ttl time.Duration) {
	maps.DeleteFunc(p.leaving, func(id presence.UserID, _ expectedLeave) bool { return !p.expects(id, ttl) })
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

// after schedules fn, in place of the function that was scheduled before.
func (p *provisional) after(d time.Duration, fn func()) {
	p.stop()
	p.timer = time.AfterFunc(d, fn)
}

func (p *provisional) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// expectLeave marks a user as signed out or invisible. If the store has lost the user, no other leave will
// come, so it is published now.
func (r *replica) expectLeave(id presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() || r.ledger.get(id) == nil {
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

// seenAs returns a copy of the entry with another visibility.
func (e *entry) seenAs(v *presence.Visibility) *entry {
	m := e.Member
	m.Visibility = v
	return newEntry(m)
}

// expireProvisional runs at a deadline of the provisional roster. If the store was out again, no node could
// restore anything, so the nodes get the time anew. The same holds if the store lost its data again, which a
// replica cannot notice if the topic was still empty.
func (r *replica) expireProvisional() {
	sound, restore := r.outage.soundFor(), restoreFor(r.kind.TTL)
	since := r.outage.restoringSince()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case sound < restore && r.provisional.mayWait(sound, r.kind.TTL, since) && !r.closed:
		r.provisional.postpone(max(r.kind.TTL, restore) - sound)
		r.provisional.after(restore-sound, r.expireProvisional)
	case r.closed || !r.provisional.open():
	case r.watch.resyncing: // a reload is under way, which may restore users or find a new loss
		r.provisional.after(time.Second, r.expireProvisional)
	case r.watch.figures.unheard(&r.ledger) && time.Since(r.provisional.began) < 2*restore: // it may be that of a join
		r.resyncLocked(false)
		r.provisional.after(houseKeeping, r.expireProvisional)
	default:
		r.provisional.postpone(restore - sound) // until sweeps, which have waited as long, have removed what has expired
		r.publishPendingLocked()
		n, wait := r.provisional.expire()
		if wait > 0 {
			r.provisional.after(wait, r.expireProvisional)
		}
		r.decideLocked(n)
	}
}

// decideLocked publishes decisions about users who were missing or revived. The caller must have published
// pending diffs, because they still belong to a provisional version with its own name.
func (r *replica) decideLocked(n net) {
	r.ledger.decide(n)
	if !r.provisional.open() {
		r.endProvisionalLocked()
	} else if n.empty() {
		return
	}
	r.publishLocked(n)
}

// endProvisionalLocked restarts the history. Its versions count missing users as present and revived users as
// absent, but readers from another node may have seen the opposite.
func (r *replica) endProvisionalLocked() {
	r.provisional.active = false
	r.ledger.restartHistory(r.ledger.head)
}
