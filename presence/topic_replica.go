package presence

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A replica is one topic on this node, kept current by the store's diffs. What
// it has published, as View and as frames, runs at most Config.MergeWindow behind
// what it knows.
type replica struct {
	topic  Topic
	store  Store
	cfg    *Config
	stats  *counters
	spawn  func(func(context.Context)) // runs in a goroutine that the tracker owns
	lost   func(context.Context) error // told when the store turns out to have lost data
	probes *sync.Pool                  // of the rosters

	view   atomic.Pointer[View] // nil until loaded
	looked atomic.Bool          // somebody did, since idle asked last
	used   atomic.Int64         // when idle last found that, Unix nanoseconds
	loaded chan struct{}        // closed once view is there
	tried  chan struct{}        // closed once the first try to load failed

	mu           sync.Mutex
	early        []Diff // came before the snapshot
	head         DiffID // the store's version after all that is known
	history      *history
	pending      map[UserID]*entry // changed since the last cut; nil: gone
	published    int               // position in history that roster is of
	cursor       Cursor            // of the latest frame
	roster       roster
	counts       Counts
	staleSince   time.Time // the store is out; zero while it is not
	counting     bool      // over the roster limit: events tell totals only
	ring         ring
	cutAt        time.Time   // the latest cut
	timer        *time.Timer // the next one, nil if none is due
	resyncing    bool
	inDoubt      bool                 // there were doubts when last published
	missing      map[UserID]Departure // in the roster, and not in a store that lost data
	goodbyes     map[UserID]struct{}  // in the roster, and signed out or invisible: a leave will come
	revived      map[UserID]*entry    // in that store, and not in the roster: they left
	doubting     *time.Timer          // when the store is believed
	revivedUntil time.Time            // when it is about those
	locals       int                  // versions that only this node has
	suspect      DiffID               // a head that refresh did not know
	differed     DiffID               // a head at which the store's total was another one
	resumed      map[int]*shared      // diffs for those who come back, by position
	audiences    map[*Group]*audience // who reads the topic
	listening    []*audience          // of these, who is to be woken
	stop         func()               // ends the watch
	closed       bool
}

// countEvery is the least time between two count events (CONTRACT §4).
const countEvery = time.Second

func newReplica(topic Topic, t *Tracker) *replica {
	r := &replica{
		topic: topic, store: t.store, cfg: &t.cfg, stats: &t.stats, spawn: t.life.spawn, lost: t.leases.restore, probes: &t.probes,
		loaded:    make(chan struct{}),
		tried:     make(chan struct{}),
		audiences: make(map[*Group]*audience),
		missing:   make(map[UserID]Departure),
		revived:   make(map[UserID]*entry),
		goodbyes:  make(map[UserID]struct{}),
	}
	r.touch()
	return r
}

// touch notes that somebody looks. It stands on the way of every page, so it
// leaves the clock to idle.
func (r *replica) touch() {
	if !r.looked.Load() {
		r.looked.Store(true)
	}
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
		r.resync(false)
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
	if d.Prev == r.head {
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

// has reports whether a user is there, as far as that is known; true before the
// topic is loaded.
func (r *replica) has(id UserID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history == nil || r.latest(id) != nil
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
		r.certain(m.ID)
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
		r.certain(l.ID)
		if before := r.latest(l.ID); before != nil {
			v.changes = append(v.changes, change{id: l.ID, before: before, present: true, left: l})
			r.pending[l.ID] = nil
		}
	}
	r.history.add(v)
	r.head = d.ID
}

// schedule publishes what is pending: at once after a quiet moment, otherwise
// when the merge window is over.
func (r *replica) schedule() {
	window := r.cfg.MergeWindow
	if r.counting {
		window = max(window, countEvery)
	}
	wait := window - time.Since(r.cutAt)
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
	r.history.trim(r.published)
	r.cutAt = time.Now()
	clear(r.pending)
	for _, e := range n.unseen {
		r.roster.set(e)
	}
	settled := r.inDoubt && !r.doubts()
	if n.empty() && !settled {
		if len(n.unseen) > 0 {
			r.renew()
		}
		return
	}
	for _, e := range n.joins {
		r.roster.set(e)
	}
	for _, l := range n.leaves {
		r.roster.remove(l.ID)
	}
	if settled {
		r.endDoubt()
	}
	r.publish(n)
}

// publish makes a frame of what changed, and a new View.
func (r *replica) publish(n net) {
	prev := r.cursor
	if r.doubts() { // the roster is not that of the store's version
		r.history.add(version{id: r.localID(), local: true})
		r.published = r.history.end()
	}
	r.cursor = newCursor(r.topic, r.history.head())
	n.total = r.roster.byID.Len()
	was := r.counting
	r.count()
	r.renew()
	switch {
	case r.counting:
		r.ring.push(r.countFrame(n))
	case was:
		r.ring.restart() // readers know the totals only: each gets a state
		r.beginHistory()
	default:
		r.ring.push(r.diffFrame(prev, n))
	}
	r.stats.diffsPublished.Add(1)
}

// countFrame holds the totals of the latest View.
func (r *replica) countFrame(n net) frame {
	return frame{
		Event: Event{Type: EventCount, Topic: r.topic, Cursor: r.cursor, Data: r.view.Load().heartbeatEvent().Data},
		net:   n,
	}
}

// beginHistory forgets what led to the latest version: who comes back from
// before gets a state.
func (r *replica) beginHistory() {
	r.history = newHistory(r.history.head(), r.cfg.LogSize)
	r.published, r.resumed = r.history.end(), nil
}

// count decides whether the topic is over the roster limit: events then tell
// totals, until it is clearly below.
func (r *replica) count() {
	switch total, limit := r.roster.byID.Len(), r.cfg.MaxRoster; {
	case limit < 0:
	case total > limit:
		r.counting = true
	case total < limit-limit/10:
		r.counting = false
	}
}

// renew makes a new View, and wakes the readers.
func (r *replica) renew() {
	r.view.Store(&View{
		Topic: r.topic, Cursor: r.cursor,
		Total: r.roster.byID.Len(), Guests: r.counts.Guests, Recent: r.counts.Recent,
		Stale: !r.staleSince.IsZero(), AsOf: r.staleSince, counting: r.counting, roster: r.roster.copy(),
	})
	r.wake()
}

// diffFrame encodes what leads from a cursor to the latest one.
func (r *replica) diffFrame(prev Cursor, n net) frame {
	n.total = r.roster.byID.Len()
	return frame{
		Event: Event{Type: EventDiff, Topic: r.topic, Cursor: r.cursor, Data: encodeDiff(r.topic, r.cursor, prev, n)},
		net:   n,
	}
}

// close ends the replica. Its View stays readable.
func (r *replica) close() {
	r.mu.Lock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.doubting != nil {
		r.doubting.Stop()
	}
	stop := r.stop
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
}
