package presence

import (
	"context"
	"slices"
	"sync"
)

// A tapped is the diffs of a topic as they come, kept until they are told. Nodes that stand
// by keep them too, after the position in the record: if the node that leads dies, and the
// store loses its log, they are the only ones who know what happened meanwhile.
type tapped struct {
	topic Topic
	wake  func()
	stop  func() // ends the watch; nil: it has not begun

	mu    sync.Mutex // taken with no other mutex held
	early []Diff     // at most maxEarly, the latest ones
	lost  bool       // older ones were dropped
}

// watch begins the watch, if it has not begun.
func (t *tapped) watch(ctx context.Context, store Store) {
	if t.stop != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	if stop, err := store.Watch(ctx, t.topic, t.add); err == nil {
		t.stop = stop // else the next tick tries again
	}
}

func (t *tapped) unwatch() {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

func (t *tapped) add(d Diff) {
	t.mu.Lock()
	if len(t.early) >= maxEarly {
		t.early, t.lost = slices.Delete(t.early, 0, maxEarly/4), true
	}
	t.early = append(t.early, d)
	t.mu.Unlock()
	t.wake()
}

// take returns the diffs, and whether some are missing.
func (t *tapped) take() (early []Diff, lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	early, lost = t.early, t.lost
	t.early, t.lost = nil, false
	return early, lost
}

// giveBack undoes take for some diffs.
func (t *tapped) giveBack(diffs []Diff) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.early = append(diffs, t.early...)
	if over := len(t.early) - maxEarly; over > 0 {
		t.early, t.lost = t.early[over:], true
	}
}

// told drops the diffs up to a version, which were told.
func (t *tapped) told(version DiffID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.IndexFunc(t.early, func(d Diff) bool { return d.ID == version }); at >= 0 {
		t.early, t.lost = slices.Delete(t.early, 0, at+1), false
	}
}
