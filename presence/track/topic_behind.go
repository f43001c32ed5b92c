package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A reader may come from a node that is ahead of this one: it resumes from a version that is not known here,
// because a diff is late or was lost. A state of this node would take the reader back in time. So the node
// first reads the missing diffs from the store's log.
//
// Example: Bob leaves at 12:00:00.0, and the diff does not reach node b, which would notice by 12:00:01.
// Alice's stream at node a shows that he left. At 12:00:00.5 it moves to node b. Without this rule she would
// see him come back, and leave once more.
//
// The node asks even while its calls fail, because it may not know yet that the store is back.
const (
	behindWait  = 500 * time.Millisecond // the longest time that a reader waits for the log
	behindEvery = 100 * time.Millisecond // the least time between two reads, because clients can make up versions
)

// reach waits until the version of a cursor is known here, if the store's log has it.
func (r *replica) reach(ctx context.Context, from presence.Cursor) {
	id, ok := from.Version(r.out.topic)
	if !ok {
		id, _, ok = from.Variant(r.out.topic)
	}
	if ok {
		awaitLook(ctx, r.lookBehind(id))
	}
}

// unknownVersion is an id that no version has.
const unknownVersion presence.DiffID = "?"

// reachLatest publishes the newest diffs in the store's log, for readers whose cursors do not name a version
// of the topic. It reports whether it read the log.
func (r *replica) reachLatest(ctx context.Context) bool {
	looked := awaitLook(ctx, r.lookBehind(unknownVersion))
	if looked {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.closed {
			r.publishPendingLocked()
		}
	}
	return looked
}

// awaitLook waits until a lookBehind is done. It reports whether there was anything to wait for.
func awaitLook(ctx context.Context, synced <-chan struct{}) bool {
	if synced == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, behindWait)
	defer cancel()
	select {
	case <-synced:
	case <-ctx.Done():
	}
	return true
}

// lookBehind reads the diffs after the head from the store's log, if this node does not know a version. It
// returns a channel that is closed when that is done, or nil if there is nothing to wait for.
func (r *replica) lookBehind(id presence.DiffID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &r.watch
	switch {
	case r.closed || r.ledger.knows(id):
		return nil
	case w.behind != nil:
		return w.behind
	case w.resyncing || time.Since(w.looked) < behindEvery:
		return nil
	}
	done, head := make(chan struct{}), r.ledger.head
	w.resyncing, w.behind, w.looked = true, done, time.Now()
	r.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, behindWait)
		defer cancel()
		diffs, err := r.store.Log(ctx, r.out.topic, head)
		r.mu.Lock()
		defer r.mu.Unlock()
		defer close(done)
		w.resyncing, w.behind = false, nil
		if r.closed {
			return
		}
		if err != nil || !unbroken(head, diffs) { // the next figures will show the gap
			diffs = nil
		}
		r.replayLocked(diffs)
	})
	return done
}
