package track

import "github.com/rollcall-go/rollcall/presence"

// maxResumeChanges is the number of changes, before merging, up to which a reader that resumes gets a diff.
// With more, it gets the diff only if that is smaller than the state.
const maxResumeChanges = 1000

// resumeLocked implements resumer. All readers that resume from the same version share one diff.
// Over the roster limit they get the totals instead.
func (r *replica) resumeLocked(from presence.Cursor, limit int) (missed *sharedEvent, ok bool) {
	l := &r.ledger
	id, ok := from.Version(r.out.topic)
	if !ok {
		return nil, false
	}
	pos, ok := r.positionLocked(id)
	if !ok {
		return nil, false
	}
	from = presence.NewCursor(r.out.topic, id)
	if from == r.cursor {
		return nil, true
	}
	if r.counting {
		return newSharedEvent(r.view.Load().countFrame(net{})), true
	}
	if diff := r.resumed[pos]; diff != nil {
		return diff, true
	}
	if l.history.size(pos, l.published) > max(maxResumeChanges, 2*min(limit, l.roster.len())) {
		return nil, false
	}
	n, ok := l.missedSince(pos)
	if !ok { // the roster does not agree with the history
		r.resyncLocked(true)
		return nil, false
	}
	if n.vague { // the diff may contain a join of a user whom the reader already has unchanged
		return nil, false
	}
	diff := newSharedEvent(r.view.Load().diffFrame(from, n))
	if r.resumed == nil {
		r.resumed = make(map[int]*sharedEvent)
	}
	r.resumed[pos] = diff
	return diff, true
}

// positionLocked returns the position of a version from which the history leads to what is published. If
// the version is newer than what readers here have, pending diffs are published first, also those that cancel
// out: nobody goes back to an older version.
func (r *replica) positionLocked(id presence.DiffID) (pos int, ok bool) {
	l := &r.ledger
	if pos, ok = l.history.position(id); !ok || l.history.mixed && !l.history.local(pos) {
		return 0, false
	}
	if pos > l.history.told(r.cursor, r.out.topic) {
		r.publishPendingLocked()
		if pos > l.history.told(r.cursor, r.out.topic) { // what was pending cancels out
			r.publishLocked(net{})
		}
	}
	return l.history.position(id) // which may have been dropped
}

// told returns the position of the version that a cursor of the topic names.
func (h *history) told(at presence.Cursor, topic presence.Topic) int {
	id, _ := at.Version(topic)
	told, _ := h.position(id)
	return told
}

// reachLocked implements windowed.
func (r *replica) reachLocked(id presence.DiffID) (pos int, ok bool) {
	return r.positionLocked(id)
}

// published implements windowed.
func (r *replica) published() stage {
	view, at := r.view.Load(), r.ledger.published
	return stage{names: view, also: view, history: r.ledger.history, namesAt: at, alsoAt: at}
}
