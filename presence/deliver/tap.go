package deliver

import (
	"context"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A tapped keeps the diffs of a topic until the consumer was told of them. Standby nodes also keep the diffs
// after the record's position: if the leader dies and the store loses its log, only these nodes know what
// happened in between.
type tapped struct {
	topic presence.Topic
	wake  func()
	stop  func() // ends the watch; nil: it has not begun

	mu    sync.Mutex     // taken with no other mutex held
	early []backend.Diff // at most maxEarly, the latest ones
	lost  bool           // older diffs were dropped
}

// watch begins the watch, if it has not begun.
func (t *tapped) watch(ctx context.Context, store backend.Store) {
	if t.stop != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
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

func (t *tapped) add(d backend.Diff) {
	t.mu.Lock()
	if len(t.early) >= maxEarly {
		t.early, t.lost = slices.Delete(t.early, 0, maxEarly/4), true
	}
	t.early = append(t.early, d)
	t.mu.Unlock()
	t.wake()
}

// take returns the diffs, and whether some are missing.
func (t *tapped) take() (early []backend.Diff, lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	early, lost = t.early, t.lost
	t.early, t.lost = nil, false
	return early, lost
}

// giveBack puts diffs back that take returned.
func (t *tapped) giveBack(diffs []backend.Diff) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.early = append(diffs, t.early...)
	if over := len(t.early) - maxEarly; over > 0 {
		t.early, t.lost = t.early[over:], true
	}
}

// told drops the diffs up to a version: the consumer was told of them.
func (t *tapped) told(version presence.DiffID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.IndexFunc(t.early, func(d backend.Diff) bool { return d.ID == version }); at >= 0 {
		t.early, t.lost = slices.Delete(t.early, 0, at+1), false
	}
}
