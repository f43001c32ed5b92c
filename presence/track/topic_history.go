package track

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A history has the latest diffs of a topic, oldest first. A reader that resumes from a cursor gets one diff
// that is merged from them.
type history struct {
	base     presence.DiffID // the version before the first
	versions []version
	index    map[presence.DiffID]int // the position after each version, counting dropped ones; nil: see fewVersions
	dropped  int
	limit    int // the most versions
	changes  int // number of changes in all versions
}

// maxChanges bounds the history of a topic in which thousands of users come and go at once. A change takes
// about 300 bytes.
const maxChanges = 64 << 10

// fewVersions is the number of versions up to which a history has no index. An index takes 200 bytes, and
// most of thousands of topics have a few versions each.
const fewVersions = 16

// A version is one diff of the store, with the previous entries of its users.
type version struct {
	id      presence.DiffID
	local   bool // only this node has this version
	total   int
	changes []rosterChange
}

// A rosterChange is what happened to one user.
type rosterChange struct {
	id      presence.UserID
	before  *entry            // nil: absent, or present with an entry that is not known here
	present bool              // before
	after   *entry            // nil: gone
	left    backend.Departure // also for a device that stays while its user turned invisible
}

// moment returns a moment of the change, by the store's clock; zero: the change has none that may be shown.
func (c *rosterChange) moment() time.Time {
	if c.after != nil {
		return c.after.Since
	}
	return c.left.LastSeen
}

// A net is several changes merged. It has each user at most once.
type net struct {
	total    int
	joins    []*entry // users who came, or whose profile looks different
	leaves   []backend.Departure
	returned []*entry            // users who left and came back, and look the same: their entries before
	silent   []*entry            // users who stayed and look the same, but whose profile differs: their entries after
	vanished []backend.Departure // devices that stay while their users turned invisible
	vague    bool                // a user in joins may look as before; the entry before is not known here
}

func (n net) empty() bool { return len(n.joins)+len(n.leaves) == 0 }

func newHistory(base presence.DiffID, limit int) *history {
	return &history{base: base, limit: limit}
}

// head returns the latest version.
func (h *history) head() presence.DiffID { return h.at(h.end()) }

// at returns the version before a position.
func (h *history) at(pos int) presence.DiffID {
	if pos > h.dropped {
		return h.versions[pos-h.dropped-1].id
	}
	return h.base
}

// end returns the position after the latest version.
func (h *history) end() int { return h.dropped + len(h.versions) }

// stored returns the position after the latest version that the store has too.
func (h *history) stored() int {
	pos := h.end()
	for h.local(pos) {
		pos--
	}
	return pos
}

// position returns the position after a version, and false if it is not known.
func (h *history) position(id presence.DiffID) (int, bool) {
	if h.index != nil {
		i, ok := h.index[id]
		return i, ok
	}
	for i, v := range slices.Backward(h.versions) {
		if v.id == id {
			return h.dropped + i + 1, true
		}
	}
	return h.dropped, id == h.base
}

// local reports whether the version before a position exists only on this node.
func (h *history) local(pos int) bool {
	return pos > h.dropped && h.versions[pos-h.dropped-1].local
}

func (h *history) add(v version) {
	h.versions = append(h.versions, v)
	h.changes += len(v.changes)
	if h.index != nil {
		h.index[v.id] = h.end()
	} else if len(h.versions) > fewVersions {
		h.index = map[presence.DiffID]int{h.base: h.dropped}
		for i, v := range h.versions {
			h.index[v.id] = h.dropped + i + 1
		}
	}
}

// trim drops old versions over the limits, but none after the position published, because no reader has got
// these yet.
func (h *history) trim(published int) {
	if len(h.versions) <= h.limit+h.limit/4 && h.changes <= maxChanges+maxChanges/4 {
		return // a fifth is dropped at once, so that moving the rest costs little
	}
	over := 0
	for over < published-h.dropped && (len(h.versions)-over > h.limit || h.changes > maxChanges) {
		delete(h.index, h.base)
		h.base = h.versions[over].id
		h.changes -= len(h.versions[over].changes)
		over++
	}
	h.versions = slices.Delete(h.versions, 0, over)
	h.dropped += over
}

// between merges the versions from one position to another.
func (h *history) between(from, to int) net {
	type span struct {
		first rosterChange
		last  *rosterChange
		left  bool // the user left in between
	}
	var order []presence.UserID
	spans := make(map[presence.UserID]*span)
	var n net
	for _, v := range h.versions[max(from-h.dropped, 0) : to-h.dropped] {
		n.total = v.total
		for i := range v.changes {
			c := &v.changes[i]
			if c.after != nil && c.left.ID != "" {
				n.vanished = append(n.vanished, c.left)
			}
			if s := spans[c.id]; s != nil {
				s.last, s.left = c, s.left || c.after == nil
				continue
			}
			spans[c.id] = &span{first: *c, last: c, left: c.after == nil}
			order = append(order, c.id)
		}
	}
	for _, id := range order {
		s := spans[id]
		switch {
		case s.last.after == nil && s.first.present:
			n.leaves = append(n.leaves, s.last.left)
		case s.last.after != nil && !s.first.present:
			n.joins = append(n.joins, s.last.after)
		case s.last.after != nil && (s.first.before == nil || !s.first.before.LooksLike(s.last.after.Member)):
			n.joins = append(n.joins, stayed(s.first.before, s.last.after))
			n.vague = n.vague || s.first.before == nil && s.last.after != s.first.after
		case s.last.after != nil:
			if s.left {
				n.returned = append(n.returned, s.first.before)
			}
			if !s.first.before.SameProfile(s.last.after.User) {
				n.silent = append(n.silent, stayed(s.first.before, s.last.after))
			}
		}
	}
	return n
}

// size returns the number of changes from one position to another, before merging.
func (h *history) size(from, to int) (changes int) {
	for _, v := range h.versions[max(from-h.dropped, 0) : to-h.dropped] {
		changes += len(v.changes)
	}
	return changes
}

// leadsTo reports whether a roster agrees with the history about its users. A store that lost some keys of a
// topic may have a log about users whom its roster lacks.
func (h *history) leadsTo(at roster) bool {
	latest := make(map[presence.UserID]bool)
	for _, v := range h.versions {
		for _, c := range v.changes {
			latest[c.id] = c.after != nil
		}
	}
	for id, there := range latest {
		if there != (at.get(id) != nil) {
			return false
		}
	}
	return true
}

// gone returns the users who left according to this history, by a leave that the earlier history does not
// have.
func (h *history) gone(was *history) map[presence.UserID]backend.Departure {
	gone := make(map[presence.UserID]backend.Departure)
	for _, v := range h.versions {
		_, old := was.position(v.id)
		for _, c := range v.changes {
			if delete(gone, c.id); c.after == nil && !old {
				gone[c.id] = c.left
			}
		}
	}
	return gone
}

// stayed returns the entry of a user who is in both. It keeps the Since of before: a leave and a join in
// between cancel out, and readers do not see them.
func stayed(before, after *entry) *entry {
	if before == nil || before.Since.Equal(after.Since) {
		return after
	}
	m := after.Member
	m.Since = before.Since
	return newEntry(m)
}

// coldHistory splits a store's log into the history that led to a version, and the diffs after it. The
// history knows a user's entry before a change only if an earlier diff in the log has the user.
func coldHistory(at presence.DiffID, log []backend.Diff, limit int) (*history, []backend.Diff) {
	n := 0
	for i, d := range log {
		if d.ID == at {
			n = i + 1
		}
	}
	if n == 0 {
		if at == backend.Origin {
			return newHistory(at, limit), log
		}
		return newHistory(at, limit), nil
	}
	first := max(n-limit, 0)
	h := newHistory(log[first].Prev, limit)
	known := make(map[presence.UserID]*entry) // as the log has them
	for _, d := range log[first:n] {
		v := version{id: d.ID, total: d.Total}
		set := func(m presence.Member, present bool) {
			e := newEntry(m)
			v.changes = append(v.changes, rosterChange{id: m.ID, present: present, before: known[m.ID], after: e})
			known[m.ID] = e
		}
		for _, m := range d.Joins {
			set(m, false)
		}
		for _, m := range d.Updates {
			set(m, true)
		}
		for _, l := range d.Leaves {
			v.changes = append(v.changes, rosterChange{id: l.ID, present: true, before: known[l.ID], left: l})
			delete(known, l.ID)
		}
		h.add(v)
	}
	return h, log[n:]
}
