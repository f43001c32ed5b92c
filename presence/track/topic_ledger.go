package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A ledger is what this node knows of a topic: the roster that readers have, and the diffs since. The
// outlet's mutex guards it.
type ledger struct {
	head      presence.DiffID            // the latest version of the store, after all diffs
	history   *history                   // nil until the topic is loaded
	roster    roster                     // the published roster
	published int                        // the position in history of the roster
	pending   map[presence.UserID]*entry // users changed since; nil: gone
	apart     map[presence.UserID]apart  // whom readers see otherwise than the store has them at the head
	latest    int64                      // the latest known moment of the topic, by the store's clock, in Unix nanoseconds: a user who came before it and is not listed has left
}

// newLedger returns a ledger without unpublished changes.
func newLedger(head presence.DiffID, members roster, h *history) ledger {
	l := ledger{head: head, history: h, roster: members, published: h.end(), pending: make(map[presence.UserID]*entry)}
	if e, there := members.bySince.Min(); there { // the newest is the first
		l.reach(e.Since)
	}
	for _, v := range h.versions {
		for _, c := range v.changes {
			l.reach(c.moment())
		}
	}
	return l
}

// reach notes a moment that the topic has reached.
func (l *ledger) reach(at time.Time) {
	if !at.IsZero() {
		l.latest = max(l.latest, at.UnixNano())
	}
}

func (l *ledger) loaded() bool { return l.history != nil }

// knows reports whether a version is in the history. It is false before the topic is loaded.
func (l *ledger) knows(id presence.DiffID) bool {
	if !l.loaded() {
		return false
	}
	_, ok := l.history.position(id)
	return ok
}

// follows reports whether a diff continues from the head. A store that forgot an empty
// topic starts again from Origin: if the ledger is empty too, no diff is missing.
func (l *ledger) follows(d backend.Diff) bool {
	return d.Prev == l.head || d.Prev == backend.Origin && l.total() == 0
}

// total returns the number of users whom the store has at the head.
func (l *ledger) total() int {
	total := l.roster.len()
	for id, a := range l.apart {
		if a.stored == nil { // readers see the user
			total--
		} else if l.get(id) == nil {
			total++
		}
	}
	for id, e := range l.pending {
		was := l.roster.get(id) != nil
		if is := e != nil; is && !was {
			total++
		} else if !is && was {
			total--
		}
	}
	return total
}

// get returns a user's entry at the head, as readers are to see it; nil: absent.
func (l *ledger) get(id presence.UserID) *entry {
	if e, ok := l.pending[id]; ok {
		return e
	}
	return l.roster.get(id)
}

// change adds a change to the next version, unless readers see nothing of it. The next merge publishes it.
func (l *ledger) change(v *version, c rosterChange) {
	c.before = l.get(c.id)
	if c.before == c.after {
		return
	}
	c.present = c.before != nil
	if c.after != nil && (!c.present || c.before.Visibility.Equal(c.after.Visibility) || c.after.visibility().Status != presence.Invisible) {
		c.left = backend.Departure{}
	}
	v.changes = append(v.changes, c)
	l.pending[c.id] = c.after
}

// version returns the version that the roster is at, as readers have it.
func (l *ledger) version() presence.DiffID { return l.history.at(l.published) }

// unpublished returns the number of diffs since the last merge.
func (l *ledger) unpublished() int { return l.history.end() - l.published }

// merge applies all diffs since the last merge to the roster, and returns their changes.
func (l *ledger) merge() net {
	n := l.history.between(l.published, l.history.end())
	l.published = l.history.end()
	l.history.trim(l.published)
	clear(l.pending)
	for _, e := range n.silent {
		l.roster.set(e)
	}
	l.roster.apply(n)
	return n
}

// restartHistory drops all diffs. Readers that resume from an older version get a state.
func (l *ledger) restartHistory(at presence.DiffID) {
	l.history = newHistory(at, l.history.limit)
	l.published = l.history.end()
}

// missedSince returns what a reader at a position of the history has missed, with users as the roster has
// them now. A user who left and came back is among the joins, because Since has changed. A user who stayed is
// not, and neither is one who came back unnoticed: then the roster may have an older Since than the store,
// which lost its data meanwhile. missedSince returns false if the roster lacks a user that the history has.
func (l *ledger) missedSince(pos int) (net, bool) {
	n := l.history.between(pos, l.published)
	for i, e := range n.joins {
		if n.joins[i] = l.roster.get(e.ID); n.joins[i] == nil {
			return net{}, false
		}
	}
	for _, was := range n.returned {
		e := l.roster.get(was.ID)
		if e == nil {
			return net{}, false
		}
		if e.Since.After(was.Since) {
			n.joins = append(n.joins, e)
		}
	}
	return n, true
}
