package feed

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A feedState is a feed that pages of this node follow, or followed a moment ago. It always has the head. It
// has items while a page has needed them lately.
type feedState struct {
	f    *follower
	name Name
	by   presence.UserID // who brought it in: see bringer
	out  *track.Line
	turn wait.Mutex // held while the feed is changed
	view atomic.Pointer[view]

	warmed atomic.Int64 // when a page last needed items, or got an event, in Unix nanoseconds
	owed   atomic.Bool  // a reader waits for a state
}

func newFeedState(f *follower, n Name) *feedState {
	l := &feedState{f: f, name: n, turn: wait.NewMutex()}
	v := &view{cfg: f.cfg, name: n}
	l.out = f.tracker.NewLine(n.Topic(), v.version(), l.owe)
	l.view.Store(v)
	return l
}

// owe notes that a reader needs a state that is not in memory.
func (l *feedState) owe() {
	l.owed.Store(true)
	l.warmed.Store(time.Now().UnixNano())
	l.f.reading.want(l.name)
}

// show publishes a view by a method of l.out. The caller has the turn.
func (l *feedState) show(v *view, how func(track.LineVersion)) {
	how(v.version())
	l.view.Store(v) // last, so that a reader who finds that the view serves it gets this view or a later one
}

// ready prepares the feed for a reader that has a version, unless the database is out.
func (l *feedState) ready(ctx context.Context, have presence.DiffID) {
	l.warmed.Store(time.Now().UnixNano())
	if l.view.Load().serves(have) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if l.turn.Lock(ctx) != nil {
		return
	}
	defer l.turn.Unlock()
	switch {
	case l.view.Load().serves(have):
	case l.f.calls.isOut(): // markStale may have run before this feed was in the table
		l.stale()
	case !l.extend(ctx, have):
		l.reload(ctx)
	}
}

// noRoom publishes a view for a feed for which there is no room, so that its readers learn that they see
// nothing new.
func (l *feedState) noRoom(ctx context.Context) {
	if l.turn.Lock(ctx) == nil {
		l.stale()
		l.turn.Unlock()
	}
}

// extend reads the changes since a reader's version. It returns false if the reader needs a page instead, and
// the database may have one. The caller has the turn.
func (l *feedState) extend(ctx context.Context, have presence.DiffID) bool {
	v := l.view.Load()
	if have == "" || have == track.NoVersion {
		return false
	}
	if !v.known {
		heads, err := call(ctx, l.f.calls, func(ctx context.Context) ([]Head, error) { return l.f.store.Heads(ctx, l.name) })
		if err != nil {
			l.failed()
			return true
		}
		w := *v
		w.head, w.known, w.base = heads[0], true, heads[0].Rev
		v = &w
	}
	rev, ok := revisionIn(l.name, v.head, have)
	if !ok {
		return false
	}
	if rev < v.base {
		changes, err := call(ctx, l.f.calls, func(ctx context.Context) ([]Change, error) {
			return l.f.store.Changes(ctx, Since{l.name, rev, v.head.Born})
		})
		if err != nil {
			l.failed()
			return true
		}
		if changes[0].Gap {
			return false
		}
		l.f.stats.catchUps.Add(1)
		l.advance(v, changes[0])
		w := *l.view.Load()
		w.base, w.changed = rev, changes[0].Items
		l.restate(&w)
		return true
	}
	l.restate(v)
	return true
}

// restate publishes the first view, or one of the same revision.
func (l *feedState) restate(v *view) {
	if l.view.Load().known {
		l.show(v, l.out.Restate)
	} else {
		l.show(v, l.out.Replace)
	}
}

// advance publishes the changes since v, if there are any.
func (l *feedState) advance(v *view, c Change) {
	if c.Head.Rev <= v.head.Rev && v.known {
		l.restate(v)
		return
	}
	next := v.next(c.Head, itemsAfter(c.Items, v.head.Rev))
	diff := l.f.cfg.encodeChanges(l.name, cursorOf(l.name, v.head, v.known), next.head, itemsAfter(c.Items, v.head.Rev), false)
	if !l.view.Load().known {
		l.show(next, l.out.Replace)
		return
	}
	l.warmed.Store(time.Now().UnixNano()) // readers may take a while to read the event
	l.show(next, func(now track.LineVersion) { l.out.Publish(now, diff) })
}

// apply adds changes that were read after a revision that the feed had.
func (l *feedState) apply(ctx context.Context, c Change) {
	if l.turn.Lock(ctx) != nil {
		l.f.turned.Wake()
		return
	}
	defer l.turn.Unlock()
	switch v := l.view.Load(); {
	case !v.known || c.Gap || l.owed.Load():
		l.reload(ctx)
	case c.Head.Rev > v.head.Rev:
		l.advance(v, c)
	default:
		l.fresh()
	}
}

// fresh notes that the database answers. The caller has the turn.
func (l *feedState) fresh() {
	if v := l.view.Load(); v.stale {
		w := *v
		w.stale = false
		l.show(&w, l.out.Restate)
	}
}

// failed notes that a call for the feed failed, and schedules a check. A reader that left meanwhile is no
// sign of an outage. The caller has the turn.
func (l *feedState) failed() {
	if l.f.calls.isOut() {
		l.stale()
	}
	l.f.turned.Wake()
}

// stale notes that the feed may be outdated, because the database is out or the feed waits for room. The
// caller has the turn.
func (l *feedState) stale() {
	if v := l.view.Load(); !v.stale {
		w := *v
		w.stale = true
		l.show(&w, l.out.Restate)
	}
}

// reload reads the newest items. Readers get a state if they need one. The caller has the
// turn.
func (l *feedState) reload(ctx context.Context) {
	p, err := readPage(ctx, l.f.calls, l.f.store, l.name, 0, loadedItems)
	if err != nil {
		l.failed()
		return
	}
	v := l.view.Load()
	w := &view{cfg: v.cfg, name: v.name, head: p.Head, known: true, warm: true, top: p.Items, more: p.More, base: p.Head.Rev}
	owed := l.owed.Swap(false)
	if same := v.known && p.Head.Rev == v.head.Rev && p.Head.Born.Equal(v.head.Born); same {
		w.base, w.changed = v.base, v.changed
		if !owed {
			l.show(w, l.out.Restate)
			return
		}
	}
	l.show(w, l.out.Replace)
}

// cool drops items that no page has needed for a while.
func (l *feedState) cool(now time.Time) {
	if now.Sub(time.Unix(0, l.warmed.Load())) < coolAfter {
		return
	}
	if !l.turn.TryLock() {
		return
	}
	defer l.turn.Unlock()
	if v := l.view.Load(); v.warm || len(v.changed) > 0 {
		l.show(v.cold(), l.out.Restate)
	}
	l.out.Forget()
}

// coolAfter is how long a feed keeps its items in memory.
const coolAfter = 30 * time.Second
