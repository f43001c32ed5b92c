package track

import "github.com/rollcall-go/rollcall/presence"

// maxResumeChanges bounds the changes, before merging, for which a reader that resumes
// gets a diff. Beyond it the diff must be smaller than the state.
const maxResumeChanges = 1000

// resumeLocked implements source.resumeLocked. All readers that resume at the same version
// share one diff. Over the roster limit they get the totals instead. If the cursor is newer
// than what is published here, pending diffs are published first, also those that cancel out:
// nobody goes back to an older version.
func (r *replica) resumeLocked(from presence.Cursor, limit int) (missed *sharedEvent, ok bool) {
	l := &r.ledger
	id, ok := from.Version(r.out.topic)
	if !ok {
		return nil, false
	}
	pos, ok := l.history.position(id)
	if !ok || r.provisional.active && !l.history.local(pos) {
		return nil, false
	}
	if pos > l.published {
		r.publishPendingLocked()
	}
	at, _ := r.cursor.Version(r.out.topic)
	if told, _ := l.history.position(at); pos > told {
		r.publishLocked(net{})
	}
	if pos, ok = l.history.position(id); !ok { // that dropped it
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
	if n.vague { // the diff may have a join of a user whom the reader has unchanged
		return nil, false
	}
	diff := newSharedEvent(r.view.Load().diffFrame(from, n))
	if r.resumed == nil {
		r.resumed = make(map[int]*sharedEvent)
	}
	r.resumed[pos] = diff
	return diff, true
}
