package track

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// restoreWait is how long all nodes together need to restore their leases. A node asks for figures every
// houseKeeping, and finds a loss at the second answer; the third interval is a reserve.
const restoreWait = 3 * houseKeeping

// maxEarly bounds the diffs that wait for a reload. Further diffs are dropped, and the next figures show the
// gap.
const maxEarly = 4096

// A storeWatch is how a replica follows its topic in the store.
type storeWatch struct {
	stop      func()         // ends the store's Watch; nil until loaded
	resyncing bool           // a goroutine is closing a gap
	behind    chan struct{}  // closed when the current lookBehind is done; nil: none is under way
	looked    time.Time      // when the latest lookBehind began
	early     []backend.Diff // diffs that came while the topic was loaded or a gap was closed
	figures   figureCheck
}

// hold keeps a diff until the load or resync is done.
func (w *storeWatch) hold(d backend.Diff) {
	if len(w.early) < maxEarly {
		w.early = append(w.early, d)
	}
}

// A figureCheck compares the figures that the store returns, twice a second for a topic that changes, with the ledger, and so finds
// lost diffs. A single difference may be a race. A gap is a head that the ledger still does not know when the
// next answer comes, another total in two answers in a row, or a head that is older than the one known when the
// store was asked.
type figureCheck struct {
	unknown presence.DiffID // the head in the latest figures, if the ledger did not know it
	differs presence.DiffID // the head in the latest figures, if the ledger had another total at it
}

// A gap says what a ledger lacks.
type gap int

const (
	noGap     gap = iota
	gapInLog      // diffs are missing
	gapInData     // the store lost users, but not its log
)

// check returns the gap that figures show. at is the position of the ledger when the store was asked.
func (f *figureCheck) check(c backend.Counts, l *ledger, at int) gap {
	was := *f
	*f = figureCheck{}
	if c.Head == l.head { // versions that only this node has may follow it, and are no gap
		if c.Total == l.total() {
			return noGap
		}
		f.differs = c.Head // the store may have changed between reading the head and the total
		if was.differs == c.Head {
			return gapInData
		}
		return noGap
	}
	pos, known := l.history.position(c.Head)
	if !known {
		f.unknown = c.Head // its diff may be under way
	}
	switch {
	case c.Head == backend.Origin && l.total() == 0: // the store forgot an empty topic
		return noGap
	case known && pos < at: // the head is older than the one known when the store was asked
		return gapInLog
	case !known && was.unheard(l): // a diff was lost
		return gapInLog
	}
	return noGap
}

// unheard reports whether the latest figures have a head that the ledger still does not know.
func (f *figureCheck) unheard(l *ledger) bool {
	_, known := l.history.position(f.unknown)
	return f.unknown != "" && !known
}

// load reads the topic from the store and keeps it current from then on. It costs four
// round trips, one after another.
func (r *replica) load(ctx context.Context) error {
	stop, err := r.store.Watch(ctx, r.out.topic, backend.Watcher{Diff: r.receive, Broadcast: r.hear})
	if err != nil {
		return err
	}
	if err := r.reload(ctx); err != nil {
		stop()
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch.stop = stop
	close(r.loaded)
	if r.closed {
		r.spawn(func(context.Context) { stop() }) // stop may wait for receive, which needs the mutex
	}
	return nil
}

// stored is a topic as it was read from the store.
type stored struct {
	ledger ledger         // at the version of the snapshot
	newer  []backend.Diff // diffs in the log that follow it
	at     time.Time      // when the snapshot was read, by the store's clock; zero: not told
	counts backend.Counts
}

// fetch reads a topic, in three round trips.
func (env *topicEnv) fetch(ctx context.Context, topic presence.Topic) (stored, error) {
	counts, err := env.store.Counts(ctx, topic)
	if err != nil {
		return stored{}, err
	}
	snap, err := env.store.Snapshot(ctx, topic)
	if err != nil {
		return stored{}, err
	}
	log, err := env.store.Log(ctx, topic, "")
	if err != nil {
		return stored{}, err
	}
	members := newRoster(env.probes)
	for _, m := range snap.Members {
		members.set(newEntry(m))
	}
	h, newer := coldHistory(snap.ID, log, env.cfg.LogSize)
	return stored{ledger: newLedger(snap.ID, members, h), newer: newer, at: snap.At, counts: counts[0]}, nil
}

// reload reads the whole topic: at the start, and when the log cannot close a gap. Diffs that came before are
// in what it reads.
func (r *replica) reload(ctx context.Context) error {
	r.mu.Lock()
	before := len(r.watch.early)
	r.mu.Unlock()
	now, err := r.fetch(ctx, r.out.topic)
	if err != nil {
		return err
	}
	now.counts = r.asked(now.counts)
	r.mu.Lock()
	defer r.mu.Unlock()
	now.counts.Peak = r.counts.Peak.Better(now.counts.Peak)
	r.watch.early = r.watch.early[before:]
	if r.ledger.loaded() {
		r.replaceLocked(now)
	} else {
		r.startLocked(now)
	}
	r.replayLocked(now.newer)
	return nil
}

// startLocked starts with the topic as it was first read. Its log may be lost, or too short to name everybody who
// has left.
//
// Example: Bob left thread:1 at 12:00. Redis, which is short of memory, drops its log. A node starts at 12:01, and
// at 12:02 Redis starts again with a file of 11:59, in which Bob is there.
func (r *replica) startLocked(now stored) {
	r.ledger, r.counts = now.ledger, now.counts
	if r.ledger.head != backend.Origin && r.outage.soundFor() > restoreFor(r.kind.TTL) { // otherwise nodes may be restoring who came before
		r.ledger.reach(now.at)
	}
	r.cursor = presence.NewCursor(r.out.topic, r.ledger.head)
	if r.stand(newRoster(r.probes), 0, nil); len(r.ledger.apart) > 0 { // nobody reads it yet
		r.nameLocked()
		r.cursor = presence.NewCursor(r.out.topic, r.ledger.version())
	}
	r.counting = tellsTotals(r.kind, r.ledger.roster.len(), false)
	r.renewViewLocked()
	r.out.restartLocked()
	if r.heard != nil {
		r.heard(nil)
	}
}

// replaceLocked replaces the topic by what a store that lost data still has. Readers get the difference as
// one diff, which does not have users who stayed. Users whom the store may have lost or brought back are
// provisional.
func (r *replica) replaceLocked(now stored) {
	was := r.ledger
	now.ledger.latest = max(now.ledger.latest, was.latest)
	now.ledger.apart = was.apart
	earlier := now.ledger.roster.keepSince(was.roster)
	r.ledger, r.counts, r.staleSince = now.ledger, now.counts, time.Time{}
	n := r.stand(was.roster, was.latest, now.ledger.history.gone(was.history))
	if earlier && len(r.ledger.apart) == 0 { // other nodes have the store's version with the earlier Since
		r.nameLocked()
	}
	r.publishLocked(n)
}

// replayLocked adds diffs from the log, and those that came meanwhile.
func (r *replica) replayLocked(missed []backend.Diff) {
	for _, d := range append(missed, r.watch.early...) {
		if !r.ledger.knows(d.ID) && r.ledger.follows(d) {
			r.addLocked(d)
		}
	}
	r.watch.early = nil
	r.schedulePublishLocked()
}

// position returns the position after the store's latest version, for refresh.
func (r *replica) position() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ledger.loaded() {
		return 0
	}
	return r.ledger.history.stored()
}

// refresh stores the latest figures, and reports whether the topic must not rest: its figures have changed, or a
// decision depends on them. at is the replica's position when the store was asked. refresh starts a resync if the
// figures show a gap.
func (r *replica) refresh(at int, c backend.Counts) (news bool) {
	c = r.asked(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() {
		return false
	}
	if found := r.watch.figures.check(c, &r.ledger, at); found != noGap {
		r.resyncLocked(found == gapInData)
		news = true
	}
	news = news || r.watch.figures != figureCheck{}
	return r.takeLocked(c) || news || len(r.ledger.apart) > 0
}

// markStale marks the View as possibly outdated, because the store is out. It is called again and again while it is.
func (r *replica) markStale() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledger.loaded() && r.staleSince.IsZero() && !r.closed {
		r.staleSince = time.Now()
		r.showFiguresLocked()
	}
}

// resyncLocked closes a gap in the background: from the store's log, or by a reload. With reload it skips the
// log, which is intact although users are missing. If it fails, the next refresh finds the gap again.
func (r *replica) resyncLocked(reload bool) {
	if r.watch.resyncing {
		return
	}
	r.watch.resyncing = true
	r.stats.gaps.Add(1)
	head := r.ledger.head
	r.spawn(func(ctx context.Context) {
		missed, err := r.closeGap(ctx, head, reload)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watch.resyncing = false
		if err == nil && !r.closed {
			r.replayLocked(missed)
		}
	})
}

// closeGap returns the diffs after a version from the store's log. Otherwise it restores
// this node's leases, waits until the other nodes, which find the loss by themselves, have
// restored theirs, and reloads the topic. It does so
//   - with reload;
//   - if the log does not reach back to the version: the store lost data, or this node was
//     out of reach for long;
//   - if the log does not continue from the version: see unbroken.
func (r *replica) closeGap(ctx context.Context, head presence.DiffID, reload bool) ([]backend.Diff, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	if !reload {
		diffs, err := r.store.Log(ctx, r.out.topic, head)
		if err != nil && !errors.Is(err, presence.ErrGap) || err == nil && unbroken(head, diffs) {
			return diffs, err
		}
	}
	if err := r.restore(ctx); err != nil {
		return nil, err
	}
	if !wait.For(ctx, restoreWait) {
		return nil, ctx.Err()
	}
	return nil, r.reload(ctx)
}

// unbroken reports whether each of the diffs continues from the one before, and the first from a version. A
// store that lost the id of its latest diff continues from Origin although users are there, and no replica
// could follow it.
func unbroken(head presence.DiffID, diffs []backend.Diff) bool {
	for _, d := range diffs {
		restarts := d.Prev == backend.Origin && d.Total == len(d.Joins) && sizeOf(d) == len(d.Joins)
		if d.Prev != head && !restarts {
			return false
		}
		head = d.ID
	}
	return true
}

// sizeOf is the number of changes in d.
func sizeOf(d backend.Diff) int { return len(d.Joins) + len(d.Updates) + len(d.Leaves) }
