package track

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A past is a roster as it was at a version: a later View, and the users who were different then.
type past struct {
	view *View
	was  map[presence.UserID]*entry // the users who were different; nil: the user was absent
}

// get returns a user's entry; nil if the user was absent. In a count-only topic it is always nil.
func (p past) get(id presence.UserID) *entry {
	if !p.view.Names {
		return nil
	}
	if e, differs := p.was[id]; differs {
		return e
	}
	return p.view.roster.get(id)
}

// same reports whether two pasts are the same View.
func (p past) same(other past) bool {
	return p.view == other.view && len(p.was)+len(other.was) == 0
}

// first returns the first n users; none in a count-only topic.
func (p past) first(n int) *firstUsers {
	if len(p.was) == 0 || !p.view.Names {
		return p.view.first(n)
	}
	var different []*entry
	for _, e := range p.was {
		if e != nil {
			different = append(different, e)
		}
	}
	slices.SortFunc(different, newestFirst)
	first := make([]*entry, 0, min(n, p.view.Total+len(different)))
	p.view.roster.bySince.Scan(func(e *entry) bool {
		if _, differs := p.was[e.ID]; differs {
			return len(first) < n
		}
		for len(different) > 0 && len(first) < n && newestFirst(different[0], e) < 0 {
			first, different = append(first, different[0]), different[1:]
		}
		if len(first) < n {
			first = append(first, e)
		}
		return len(first) < n
	})
	return newFirstUsers(append(first, different[:min(len(different), n-len(first))]...))
}

func newestFirst(a, b *entry) int { return presence.NewestFirst(a.Member, b.Member) }

// pastOf returns a roster as it was at a position, given a View of a later position. It returns false if the
// history does not reach back, if it does not know how a user was then, or if so many changes lie in between
// that a state costs less. Nor does it know a user who has an earlier Since in the View: after a loss of data this node
// kept the user, and the new log has the user from when the lease was made again. The node that told the reader may have
// done either.
//
// Example: Alice has been there since 9:00, and Redis is wiped at 12:00. In the new log she came then. Nodes a and b keep
// her since 9:00, and node c starts anew. A page that moves to b has her since 9:00 if it comes from a, and since 12:00 if
// it comes from c.
func pastOf(view *View, h *history, at, now int) (past, bool) {
	if at < h.dropped || at > now || h.size(at, now) > maxResumeChanges {
		return past{}, false
	}
	p := past{view: view}
	for _, v := range h.versions[at-h.dropped : now-h.dropped] {
		for i := range v.changes {
			c := &v.changes[i]
			if _, seen := p.was[c.id]; seen {
				continue
			}
			if c.present && c.before == nil {
				return past{}, false
			}
			if is := (past{view: view}).get(c.id); is != nil && c.before != nil && is.Since.Before(c.before.Since) {
				return past{}, false
			}
			if p.was == nil {
				p.was = make(map[presence.UserID]*entry)
			}
			p.was[c.id] = c.before
		}
	}
	return p, true
}

// departure returns how a user last left between two positions. It returns false if the history does not say.
func (h *history) departure(id presence.UserID, from, to int) (left backend.Departure, ok bool) {
	first := max(from-h.dropped, 0)
	for _, v := range slices.Backward(h.versions[first:max(to-h.dropped, first)]) {
		for _, c := range v.changes {
			if c.id == id && c.after == nil {
				return c.left, true
			}
		}
	}
	return backend.Departure{ID: id}, false
}

// departure returns how a user last left between two stages. The topic's history may have been replaced in
// between. If no history says how, the result has only the user.
func (w *windowSource) departure(id presence.UserID, was, to *stage) backend.Departure {
	from, until := min(was.namesAt, was.alsoAt), max(to.namesAt, to.alsoAt)
	if was.history == to.history {
		left, _ := to.history.departure(id, from, until)
		return left
	}
	if w.in.restart.history == to.history {
		if left, ok := to.history.departure(id, w.in.restart.at, until); ok {
			return left
		}
		if left, ok := w.in.restart.left[id]; ok {
			return left
		}
	}
	left, _ := was.history.departure(id, from, was.history.end())
	return left
}
