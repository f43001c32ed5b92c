package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// countEvery is the least time between two count events.
const countEvery = time.Second

// devicesWindow is the merge window for those who watch people. It is longer than for rosters, so that a user
// who leaves one page and comes with the next causes no event.
const devicesWindow = 250 * time.Millisecond

// A mergeWindow merges the diffs of a busy topic: after a publication, it delays the next one.
type mergeWindow struct {
	latest time.Time   // when the latest publication was
	timer  *time.Timer // of the next publication, nil if none is due
}

// opens returns how long the next publication must wait.
func (w *mergeWindow) opens(length time.Duration) time.Duration {
	return length - time.Since(w.latest)
}

func (w *mergeWindow) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// schedulePublishLocked publishes pending changes: at once after a quiet moment, otherwise at the end of the
// merge window.
func (r *replica) schedulePublishLocked() {
	if r.apartUntoldLocked() { // a reader at the latest version cannot go on from it before that is published
		r.publishPendingLocked()
		return
	}
	length := r.cfg.MergeWindow
	if r.heard != nil {
		length = max(length, devicesWindow)
	}
	if r.counting {
		length = max(length, countEvery)
	}
	wait := r.merging.opens(length)
	switch {
	case wait <= 0:
		r.publishPendingLocked()
	case r.merging.timer == nil:
		r.merging.timer = time.AfterFunc(wait, func() { r.endWindow(&r.merging, r.publishPendingLocked) })
	}
}

// endWindow publishes at the end of a window, unless that was done before.
func (r *replica) endWindow(w *mergeWindow, publishLocked func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.timer != nil && !r.closed {
		publishLocked()
	}
}

// publishPendingLocked publishes all diffs since the latest publication, as one event.
func (r *replica) publishPendingLocked() {
	r.merging.stop()
	diffs := r.ledger.unpublished()
	if diffs == 0 {
		return
	}
	n := r.ledger.merge()
	r.stats.diffsMerged.Add(uint64(diffs - 1))
	r.merging.latest = time.Now()
	switch {
	case r.ledger.history.mixed && len(r.ledger.apart) == 0: // readers from another node may have seen the opposite of what its versions say
		r.ledger.restartHistory(r.ledger.head)
		r.publishLocked(n)
	case !n.empty() || r.apartUntoldLocked():
		r.publishLocked(n)
	case len(n.silent) > 0:
		r.showFiguresLocked()
		if r.heard != nil {
			r.heard(&n)
		}
	}
}

// apartUntoldLocked reports whether readers are to see somebody otherwise than the store has it, and have a version of the store's.
func (r *replica) apartUntoldLocked() bool {
	h := r.ledger.history
	return len(r.ledger.apart) > 0 && !h.local(h.told(r.cursor, r.out.topic))
}

// showFiguresLocked makes a new View of the same version, and sends readers its figures.
func (r *replica) showFiguresLocked() {
	r.renewViewLocked()
	r.out.wakeLocked()
	r.windows.figures(r.view.Load())
}

// publishLocked makes a new View after changes, and an event with them.
func (r *replica) publishLocked(n net) {
	prev, counted := r.cursor, r.counting
	r.signals.endOf(n.leaves)
	if len(r.ledger.apart) > 0 && !r.ledger.history.local(r.ledger.published) {
		r.nameLocked()
	}
	r.cursor, r.resumed = presence.NewCursor(r.out.topic, r.ledger.version()), nil
	r.counting = tellsTotals(r.kind, r.ledger.roster.len(), counted)
	r.renewViewLocked()
	switch {
	case r.heard != nil:
		r.heard(&n)
	case r.counting:
		r.out.publishLocked(r.view.Load().countFrame(n)) // it waited for a second on purpose, which is no lag
	case counted: // readers knew only totals, so each gets a state
		r.out.restartLocked()
		r.ledger.restartHistory(r.ledger.history.head())
	default:
		r.out.arrived = r.arrived.time()
		r.out.publishLocked(r.view.Load().diffFrame(prev, n))
	}
	r.windows.published(r.published(), n, r.arrived.time())
	r.arrived = 0
	r.stats.diffsPublished.Add(1)
}

// tellsTotals reports whether events have only totals: in a count-only topic, and above the roster limit
// until the topic is clearly below it. before says whether they had until now.
func tellsTotals(kind presence.Kind, total int, before bool) bool {
	limit := kind.MaxRoster
	switch {
	case kind.CountOnly:
		return true
	case limit < 0:
		return false
	case total > limit:
		return true
	default:
		return before && total >= limit-limit/10
	}
}

// renewViewLocked makes a new View.
func (r *replica) renewViewLocked() {
	v := &View{
		Topic: r.out.topic, Cursor: r.cursor,
		Total: r.ledger.roster.len(), Guests: r.counts.Guests, Recent: r.counts.Recent,
		Stale: !r.staleSince.IsZero(), AsOf: r.staleSince,
		Peak: r.counts.Peak, Bots: r.counts.Bots,
		Names: !r.kind.CountOnly, counting: r.counting, roster: r.ledger.roster.copy(),
	}
	if was := r.view.Load(); was != nil {
		if v.figured = was.figured; !was.tells(r.counts) {
			v.figured++
		}
	}
	r.view.Store(v)
	r.windows.viewed()
}

// diffFrame encodes the changes that lead from a cursor to the View.
func (v *View) diffFrame(prev presence.Cursor, n net) frame {
	n.total = v.Total
	return n.frame(presence.Event{Type: presence.EventDiff, Topic: v.Topic, Cursor: v.Cursor, Data: encodeDiff(v.Topic, v.Cursor, prev, n)})
}

// countFrame encodes the View's totals. n has the changes for Go programs.
func (v *View) countFrame(n net) frame {
	n.total = v.Total
	return n.frame(presence.Event{Type: presence.EventCount, Topic: v.Topic, Cursor: v.Cursor, Data: v.heartbeatEvent().Data})
}

// frame returns an event with its changes for Go programs.
func (n net) frame(e presence.Event) frame {
	const eachUser = 256 // bytes
	content := &net{total: n.total, joins: n.joins, leaves: n.leaves}
	return frame{Event: e, content: content, cost: eachUser * (len(n.joins) + len(n.leaves))}
}
