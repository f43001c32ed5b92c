package presence

import (
	"context"
	"errors"
	"time"
)

// restoreWait is how long all nodes together need to put back what is live: each
// asks for figures every houseKeeping, and finds out twice at the most.
const restoreWait = 3 * houseKeeping

// earlyMost bounds what waits for a snapshot; refresh finds what was dropped.
const earlyMost = 4096

// load reads the topic from the store and keeps it current from then on. It
// costs four round trips, one after another.
func (r *replica) load(ctx context.Context) error {
	stop, err := r.store.Watch(ctx, r.topic, r.receive)
	if err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		stop()
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop = stop
	close(r.loaded)
	if r.closed {
		r.spawn(func(context.Context) { stop() }) // receive may wait for the mutex that we hold
	}
	return nil
}

// read takes the whole topic: at the start, and when a gap cannot be bridged.
// Then readers are told the difference, so that for users who stayed nothing is
// seen; who comes back with a cursor from before gets a state.
func (r *replica) read(ctx context.Context) error {
	snap, err := r.store.Snapshot(ctx, r.topic)
	if err != nil {
		return err
	}
	log, err := r.store.Log(ctx, r.topic, "")
	if err != nil {
		return err
	}
	counts, err := r.store.Counts(ctx, r.topic)
	if err != nil {
		return err
	}
	known, rest := coldHistory(snap.ID, log, r.cfg.LogSize)
	after := newRoster(r.probes)
	for _, m := range snap.Members {
		after.set(newEntry(m))
	}
	if !known.leadsTo(after) { // keys of the topic were lost
		known = newHistory(snap.ID, r.cfg.LogSize)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.history == nil
	n := net{}
	if !first {
		n = r.doubt(difference(r.roster, after), after)
	}
	r.head = snap.ID
	r.roster, r.history, r.counts, r.staleSince = after, known, counts[0], time.Time{}
	r.pending, r.resumed = make(map[UserID]*entry), nil
	r.published = known.end()
	if first {
		r.cursor = newCursor(r.topic, snap.ID)
		r.ring.restart()
		r.count()
		r.renew()
	} else {
		r.publish(n)
	}
	r.catchUp(rest)
	return nil
}

// difference is what leads from one roster to another, whatever happened
// between. Who left was last seen about now.
func difference(before, after roster) net {
	var n net
	var stays []*entry
	after.byID.Scan(func(e *entry) bool {
		was := before.get(e.ID)
		if was == nil {
			n.joins = append(n.joins, e)
			return true
		}
		e = stayed(was, e)
		stays = append(stays, e)
		if !was.looksLike(e.User) {
			n.joins = append(n.joins, e)
		}
		return true
	})
	for _, e := range stays {
		after.set(e)
	}
	before.byID.Scan(func(e *entry) bool {
		if after.get(e.ID) == nil {
			n.leaves = append(n.leaves, Departure{ID: e.ID, LastSeen: time.Now()})
		}
		return true
	})
	return n
}

// catchUp takes diffs that the log held, and those that came meanwhile.
func (r *replica) catchUp(missed []Diff) {
	for _, d := range append(missed, r.early...) {
		if !r.knows(d.ID) && r.bridges(d) {
			r.apply(d)
		}
	}
	r.early = nil
	r.schedule()
}

// coldHistory returns the part of a log that led to a version, and the rest.
// How users were before is known of it as far as the log itself tells.
func coldHistory(at DiffID, log []Diff, limit int) (*history, []Diff) {
	n := 0
	for i, d := range log {
		if d.ID == at {
			n = i + 1
		}
	}
	if n == 0 {
		if at == Origin {
			return newHistory(at, limit), log
		}
		return newHistory(at, limit), nil
	}
	first := max(n-limit, 0)
	h := newHistory(log[first].Prev, limit)
	known := make(map[UserID]*entry) // as the log has them
	for _, d := range log[first:n] {
		v := version{id: d.ID, total: d.Total}
		set := func(m Member, present bool) {
			e := newEntry(m)
			v.changes = append(v.changes, change{id: m.ID, present: present, before: known[m.ID], after: e})
			known[m.ID] = e
		}
		for _, m := range d.Joins {
			set(m, false)
		}
		for _, m := range d.Updates {
			set(m, true)
		}
		for _, l := range d.Leaves {
			v.changes = append(v.changes, change{id: l.ID, present: true, before: known[l.ID], left: l})
			delete(known, l.ID)
		}
		h.add(v)
	}
	return h, log[n:]
}

// position is how far the replica knows its topic, for refresh.
func (r *replica) position() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.history == nil {
		return 0
	}
	return r.history.end()
}

// refresh takes the latest figures, asked for when the replica stood at a
// position. They also tell what no diff told: that the latest was lost on the
// way, or that the store went back in time.
func (r *replica) refresh(at int, c Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.history == nil {
		return
	}
	pos, known := r.history.position(c.Head)
	differs := known && pos == r.history.end() && !r.doubts() && c.Total != r.headTotal()
	switch {
	case c.Head == Origin && r.headTotal() == 0: // forgotten, for it is empty
	case known && pos < at, !known && r.suspect == c.Head:
		r.resync(false)
	case differs && r.differed == c.Head: // the store lost users, and not its log
		r.resync(true)
	}
	r.suspect, r.differed = "", ""
	if !known {
		r.suspect = c.Head // its diff may be on the way
	}
	if differs {
		r.differed = c.Head // a change may have come between two figures
	}
	if c.Guests != r.counts.Guests || c.Recent != r.counts.Recent || !r.staleSince.IsZero() {
		r.counts, r.staleSince = c, time.Time{}
		r.renew()
	}
}

// lose marks the replica as the last that was known.
func (r *replica) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.history != nil && r.staleSince.IsZero() && !r.closed {
		r.staleSince = time.Now()
		r.renew()
	}
}

// resync closes a gap in the background: by the log, or by a fresh state. lost says
// that the log cannot help.
func (r *replica) resync(lost bool) {
	if r.resyncing {
		return
	}
	r.resyncing = true
	r.stats.gaps.Add(1)
	head := r.head
	r.spawn(func(ctx context.Context) {
		missed, err := r.missed(ctx, head, lost)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.resyncing = false
		if err == nil && !r.closed {
			r.catchUp(missed)
		} // else refresh finds out, and tries again
	})
}

// missed returns what the log has after a version. If the log does not reach
// back, the store lost data, or this node was away for long: all nodes put back
// what is live, and what is there then is read.
func (r *replica) missed(ctx context.Context, head DiffID, lost bool) ([]Diff, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	if !lost {
		diffs, err := r.store.Log(ctx, r.topic, head)
		if err != nil && !errors.Is(err, ErrGap) || err == nil && unbroken(head, diffs) {
			return diffs, err
		}
	}
	if err := r.lost(ctx); err != nil {
		return nil, err
	}
	if !wait(ctx, restoreWait) {
		return nil, ctx.Err()
	}
	return nil, r.read(ctx)
}

// unbroken reports whether diffs go on from a version, each from the one before. A
// store that lost the id of its latest diff goes on from Origin although people are
// there, and nobody could follow it.
func unbroken(head DiffID, diffs []Diff) bool {
	for _, d := range diffs {
		restarts := d.Prev == Origin && d.Total == len(d.Joins) && d.size() == len(d.Joins)
		if d.Prev != head && !restarts {
			return false
		}
		head = d.ID
	}
	return true
}
