package presence

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A replica is one topic on this node, kept current by the store's diffs. What
// it has published, as View and as frames, runs at most Config.Merge behind
// what it knows.
type replica struct {
	topic Topic
	store Store
	cfg   *Config
	stats *counters
	spawn func(func(context.Context)) // runs in a goroutine that the tracker owns
	lost  func()                      // told when the store turns out to have lost data

	view   atomic.Pointer[View] // nil until loaded
	used   atomic.Int64         // when somebody last looked, Unix nanoseconds
	loaded chan struct{}        // closed once view is there
	tried  chan struct{}        // closed once the first try to load failed

	mu        sync.Mutex
	early     []Diff // came before the snapshot
	history   *history
	pending   map[UserID]*entry // changed since the last cut; nil: gone
	published int               // position in history that roster is of
	cursor    Cursor            // of the latest frame
	roster    roster
	counts    Counts
	stale     bool
	ring      ring
	cutAt     time.Time   // the latest cut
	timer     *time.Timer // the next one, nil if none is due
	resyncing bool
	suspect   DiffID        // a head that refresh did not know
	resumed   map[int]frame // diffs for those who come back, by position
	readers   map[*Connection]struct{}
	stop      func() // ends the watch
	closed    bool
}

// restoreWait is how long all nodes together need to put back what is live: each
// asks for figures every houseKeeping, and finds out twice at the most.
const restoreWait = 3 * houseKeeping

// earlyMost bounds what waits for a snapshot; refresh finds what was dropped.
const earlyMost = 4096

func newReplica(topic Topic, t *Tracker) *replica {
	r := &replica{
		topic: topic, store: t.store, cfg: &t.cfg, stats: &t.stats, spawn: t.spawn, lost: t.restore,
		loaded:  make(chan struct{}),
		tried:   make(chan struct{}),
		readers: make(map[*Connection]struct{}),
	}
	r.touch()
	return r
}

func (r *replica) touch() { r.used.Store(time.Now().UnixNano()) }

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
	after := newRoster()
	for _, m := range snap.Members {
		after.set(newEntry(m))
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.history == nil
	n := net{}
	if !first {
		n = difference(r.roster, after)
	}
	r.roster, r.history, r.counts, r.stale = after, known, counts[0], false
	r.pending, r.resumed = make(map[UserID]*entry), nil
	r.published = known.end()
	if first {
		r.cursor = newCursor(r.topic, snap.ID)
		r.ring.restart()
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
		if !was.SameProfile(e.User) {
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
// How users were before is not known of it, only whether they were there.
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
	for _, d := range log[first:n] {
		v := version{id: d.ID, total: d.Total}
		for _, m := range d.Joins {
			v.changes = append(v.changes, change{id: m.ID, after: newEntry(m)})
		}
		for _, m := range d.Updates {
			v.changes = append(v.changes, change{id: m.ID, present: true, after: newEntry(m)})
		}
		for _, l := range d.Leaves {
			v.changes = append(v.changes, change{id: l.ID, present: true, left: l})
		}
		h.add(v)
	}
	return h, log[n:]
}

// receive takes a diff from the store. It never blocks on anything but memory.
func (r *replica) receive(d Diff) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.diffsReceived.Add(1)
	switch {
	case r.closed || r.knows(d.ID):
	case r.history == nil || r.resyncing:
		if len(r.early) < earlyMost {
			r.early = append(r.early, d)
		}
	case r.bridges(d):
		r.apply(d)
		r.schedule()
	default:
		r.resync()
	}
}

func (r *replica) knows(id DiffID) bool {
	if r.history == nil {
		return false
	}
	_, ok := r.history.position(id)
	return ok
}

// bridges reports whether a diff goes on where the replica stands. A store that
// forgot an empty topic starts again from Origin, and nobody was missed if
// nobody is there.
func (r *replica) bridges(d Diff) bool {
	if d.Prev == r.history.head() {
		return true
	}
	return d.Prev == Origin && r.headTotal() == 0
}

// headTotal is how many are there after all that is known.
func (r *replica) headTotal() int {
	total := r.roster.byID.Len()
	for id, e := range r.pending {
		was := r.roster.get(id) != nil
		if is := e != nil; is && !was {
			total++
		} else if !is && was {
			total--
		}
	}
	return total
}

// latest returns a user's entry after all that is known, nil if absent.
func (r *replica) latest(id UserID) *entry {
	if e, ok := r.pending[id]; ok {
		return e
	}
	return r.roster.get(id)
}

// apply takes a diff into the history. It is published by the next cut.
func (r *replica) apply(d Diff) {
	v := version{id: d.ID, total: d.Total}
	set := func(m Member) {
		before, e := r.latest(m.ID), newEntry(m)
		v.changes = append(v.changes, change{id: m.ID, before: before, present: before != nil, after: e})
		r.pending[m.ID] = e
	}
	for _, m := range d.Joins {
		set(m)
	}
	for _, m := range d.Updates {
		set(m)
	}
	for _, l := range d.Leaves {
		if before := r.latest(l.ID); before != nil {
			v.changes = append(v.changes, change{id: l.ID, before: before, present: true, left: l})
			r.pending[l.ID] = nil
		}
	}
	r.history.add(v)
}

// schedule publishes what is pending: at once after a quiet moment, otherwise
// when the merge window is over.
func (r *replica) schedule() {
	wait := r.cfg.Merge - time.Since(r.cutAt)
	if wait <= 0 {
		r.cut()
		return
	}
	if r.timer == nil {
		r.timer = time.AfterFunc(wait, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.timer != nil && !r.closed {
				r.cut()
			}
		})
	}
}

// cut publishes all that is known.
func (r *replica) cut() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if r.published == r.history.end() {
		return
	}
	r.resumed = nil
	n := r.history.between(r.published, r.history.end())
	r.stats.diffsMerged.Add(uint64(r.history.end() - r.published - 1))
	r.published = r.history.end()
	r.cutAt = time.Now()
	clear(r.pending)
	if n.empty() {
		return
	}
	for _, e := range n.joins {
		r.roster.set(e)
	}
	for _, l := range n.leaves {
		r.roster.remove(l.ID)
	}
	r.publish(n)
}

// publish makes a frame of what changed, and a new View.
func (r *replica) publish(n net) {
	prev := r.cursor
	r.cursor = newCursor(r.topic, r.history.head())
	r.ring.push(r.diffFrame(prev, n))
	r.stats.diffsPublished.Add(1)
	r.renew()
}

// renew makes a new View, and tells the readers.
func (r *replica) renew() {
	r.view.Store(&View{
		Topic: r.topic, Cursor: r.cursor,
		Total: r.roster.byID.Len(), Guests: r.counts.Guests, Recent: r.counts.Recent,
		Stale: r.stale, roster: r.roster.copy(),
	})
	for c := range r.readers {
		c.wake()
	}
}

// diffFrame encodes what leads from a cursor to the latest one.
func (r *replica) diffFrame(prev Cursor, n net) frame {
	n.total = r.roster.byID.Len()
	return frame{
		Event: Event{Type: EventDiff, Topic: r.topic, Cursor: r.cursor, Data: encodeDiff(r.topic, r.cursor, prev, n)},
		net:   n,
	}
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
	switch {
	case c.Head == Origin && r.headTotal() == 0: // forgotten, for it is empty
	case known && pos < at, !known && r.suspect == c.Head:
		r.resync()
	}
	r.suspect = ""
	if !known {
		r.suspect = c.Head // its diff may be on the way
	}
	if c.Guests != r.counts.Guests || c.Recent != r.counts.Recent || r.stale {
		r.counts, r.stale = c, false
		r.renew()
	}
}

// lose marks the replica as the last that was known.
func (r *replica) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.history != nil && !r.stale && !r.closed {
		r.stale = true
		r.renew()
	}
}

// resync closes a gap in the background: by the log, or by a fresh state.
func (r *replica) resync() {
	if r.resyncing {
		return
	}
	r.resyncing = true
	r.stats.gaps.Add(1)
	head := r.history.head()
	r.spawn(func(ctx context.Context) {
		missed, err := r.missed(ctx, head)
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
func (r *replica) missed(ctx context.Context, head DiffID) ([]Diff, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	diffs, err := r.store.Log(ctx, r.topic, head)
	if !errors.Is(err, ErrGap) {
		return diffs, err
	}
	r.lost()
	if !wait(ctx, restoreWait) {
		return nil, ctx.Err()
	}
	return nil, r.read(ctx)
}

// close ends the replica. Its View stays readable.
func (r *replica) close() {
	r.mu.Lock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	stop := r.stop
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
}
