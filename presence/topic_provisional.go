package presence

import (
	"fmt"
	"hash/fnv"
	"time"
)

// What a store says that lost data is in doubt for as long as other nodes may need
// to put back what they hold: a wipe must not make everybody leave and come, and
// a failover that lost the last writes must not bring back who has left.

// doubt takes what leads to the roster that such a store has, and returns what of
// it is believed at once. Who is missing there stays in the roster; who left, and
// is back there as if nothing had happened, stays out of it. Who said goodbye has gone.
func (r *replica) doubt(n net, after roster) net {
	missing, revived := r.missing, r.revived
	r.missing, r.revived = make(map[UserID]Departure), make(map[UserID]*entry)
	believed := net{}
	for _, l := range n.leaves {
		if _, ok := r.goodbyes[l.ID]; ok {
			delete(r.goodbyes, l.ID)
			believed.leaves = append(believed.leaves, l)
			continue
		}
		after.set(r.roster.get(l.ID))
		if was, ok := missing[l.ID]; ok {
			l = was
		}
		r.missing[l.ID] = l
	}
	left := r.history.departed()
	for _, e := range n.joins {
		l, ok := left[e.ID]
		if ok = ok && !e.Since.After(l.LastSeen); !ok && revived[e.ID] == nil {
			believed.joins = append(believed.joins, e)
			continue
		}
		after.remove(e.ID)
		r.revived[e.ID] = e
	}
	r.inDoubt = r.doubts()
	r.revivedUntil = time.Now().Add(r.cfg.TTL + restoreWait) // what nobody renews has been swept by then
	if r.doubting != nil {
		r.doubting.Stop()
	}
	r.doubting = time.AfterFunc(r.cfg.catchUp(), r.settle)
	return believed
}

func (r *replica) doubts() bool { return len(r.missing)+len(r.revived) > 0 }

// certain takes a user out of doubt: a diff told what became of them.
func (r *replica) certain(id UserID) {
	delete(r.missing, id)
	delete(r.revived, id)
	delete(r.goodbyes, id)
}

// goodbye takes note that a user signed out, or turned invisible: of a store that
// lost the user no diff will tell it.
func (r *replica) goodbye(id UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.history == nil || r.latest(id) == nil {
		return
	}
	l, missing := r.missing[id]
	if !missing {
		r.goodbyes[id] = struct{}{}
		return
	}
	r.cut()
	delete(r.missing, id)
	r.roster.remove(id)
	r.conclude(net{leaves: []Departure{l}})
}

// stays takes a goodbye back.
func (r *replica) stays(id UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.goodbyes, id)
}

// settle believes the store: it lets those go whom nobody put back, and later those
// come whose leases did not expire.
func (r *replica) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.doubts() {
		return
	}
	if r.resyncing { // it may find them, or lose more
		r.doubting = time.AfterFunc(time.Second, r.settle)
		return
	}
	r.cut()
	var n net
	for id, l := range r.missing {
		n.leaves = append(n.leaves, l)
		r.roster.remove(id)
	}
	clear(r.missing)
	if wait := time.Until(r.revivedUntil); wait > 0 && len(r.revived) > 0 {
		r.doubting = time.AfterFunc(wait, r.settle)
	} else {
		for _, e := range r.revived {
			n.joins = append(n.joins, e)
			r.roster.set(e)
		}
		clear(r.revived)
	}
	r.conclude(n)
}

// conclude publishes what was decided of users in doubt.
func (r *replica) conclude(n net) {
	if !r.doubts() {
		r.endDoubt()
	} else if n.empty() {
		return
	}
	r.publish(n)
}

// believe ends the doubt about a user who has just come here.
func (r *replica) believe(id UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.revived[id]
	if e == nil || r.closed {
		return
	}
	r.cut()
	delete(r.revived, id)
	r.roster.set(e)
	r.conclude(net{joins: []*entry{e}})
}

// endDoubt begins the history anew: what it says of users who were in doubt is
// true for readers here, and not for those who come from another node.
func (r *replica) endDoubt() {
	r.inDoubt = false
	r.history = newHistory(r.head, r.cfg.LogSize)
	r.published, r.resumed = r.history.end(), nil
}

// localID names a version that only this node has: no other gives its cursors
// another meaning, and one that is asked for it answers with a state. Nodes are told
// apart by a hash of their whole name.
func (r *replica) localID() DiffID {
	r.locals++
	node := fnv.New32a()
	node.Write([]byte(r.cfg.Node))
	id := fmt.Sprintf("%s-%x-%x", r.head, node.Sum32(), r.locals)
	return DiffID(id[max(len(id)-maxDiffIDLen, 0):])
}
