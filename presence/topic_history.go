package presence

import "slices"

// A history is the diffs that led to a topic's head, oldest first, so that a
// reader who comes back with a cursor gets what it missed as one diff.
type history struct {
	base     DiffID // the version before the first
	versions []version
	index    map[DiffID]int // how many of versions, and those dropped, led there
	dropped  int
	limit    int // of versions
	changes  int // in all versions
}

// changesMost bounds what a history holds of a topic in which thousands come and
// go at once, at some 300 bytes a change.
const changesMost = 64 << 10

// A version is one of the store's diffs, with how its users were before.
type version struct {
	id      DiffID
	local   bool // only this node has it
	total   int
	changes []change
}

// A change is what happened to one user.
type change struct {
	id      UserID
	before  *entry // nil: absent, or present in a way that is not known here
	present bool   // before
	after   *entry // nil: gone
	left    Departure
}

// A net is what several changes come to: each user at most once.
type net struct {
	total  int
	joins  []*entry // who is new, or has a new profile
	leaves []Departure
	stayed []*entry // as they were: who is there before and after, and looks the same
	unseen []*entry // of these, with a new profile that others cannot tell from the old one
}

func (n net) empty() bool { return len(n.joins)+len(n.leaves) == 0 }

func newHistory(base DiffID, limit int) *history {
	return &history{base: base, index: map[DiffID]int{base: 0}, limit: limit}
}

func (h *history) head() DiffID {
	if n := len(h.versions); n > 0 {
		return h.versions[n-1].id
	}
	return h.base
}

// end is the position after the latest version.
func (h *history) end() int { return h.dropped + len(h.versions) }

// position returns where a version stands, and false if it is not known.
func (h *history) position(id DiffID) (int, bool) {
	i, ok := h.index[id]
	return i, ok
}

// local reports whether only this node has the version at a position.
func (h *history) local(pos int) bool {
	return pos > h.dropped && h.versions[pos-h.dropped-1].local
}

func (h *history) add(v version) {
	h.versions = append(h.versions, v)
	h.index[v.id] = h.end()
	h.changes += len(v.changes)
}

// trim drops old versions over the limits, but none that came after the position
// published: these have not been told to anybody yet.
func (h *history) trim(published int) {
	if len(h.versions) <= h.limit+h.limit/4 && h.changes <= changesMost+changesMost/4 {
		return // by the quarter, so that moving costs little
	}
	over := 0
	for over < published-h.dropped && (len(h.versions)-over > h.limit || h.changes > changesMost) {
		delete(h.index, h.base)
		h.base = h.versions[over].id
		h.changes -= len(h.versions[over].changes)
		over++
	}
	h.versions = slices.Delete(h.versions, 0, over)
	h.dropped += over
}

// between returns what the versions from one position to another come to.
func (h *history) between(from, to int) net {
	type span struct {
		first change
		last  *change
	}
	var order []UserID
	spans := make(map[UserID]*span)
	var n net
	for _, v := range h.versions[max(from-h.dropped, 0) : to-h.dropped] {
		n.total = v.total
		for i := range v.changes {
			c := &v.changes[i]
			if s := spans[c.id]; s != nil {
				s.last = c
				continue
			}
			spans[c.id] = &span{first: *c, last: c}
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
		case s.last.after != nil && (s.first.before == nil || !s.first.before.looksLike(s.last.after.User)):
			n.joins = append(n.joins, stayed(s.first.before, s.last.after))
		case s.last.after != nil:
			n.stayed = append(n.stayed, s.first.before)
			if !s.first.before.SameProfile(s.last.after.User) {
				n.unseen = append(n.unseen, stayed(s.first.before, s.last.after))
			}
		}
	}
	return n
}

// leadsTo reports whether a roster is what the history says of its users. A store that
// lost some of a topic's keys, and not others, has a log of users who are not there.
func (h *history) leadsTo(at roster) bool {
	latest := make(map[UserID]bool)
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

// size returns how many changes there are from one position to another, before they
// are merged.
func (h *history) size(from, to int) (changes int) {
	for _, v := range h.versions[max(from-h.dropped, 0) : to-h.dropped] {
		changes += len(v.changes)
	}
	return changes
}

// departed returns how those left whom the history saw leave, and not come back.
func (h *history) departed() map[UserID]Departure {
	left := make(map[UserID]Departure)
	for _, v := range h.versions {
		for _, c := range v.changes {
			if c.after == nil {
				left[c.id] = c.left
			} else {
				delete(left, c.id)
			}
		}
	}
	return left
}

// stayed returns the entry of a user who was there before and is there after:
// to readers, who were not told of the moment between, it is one stay.
func stayed(before, after *entry) *entry {
	if before == nil || before.Since.Equal(after.Since) {
		return after
	}
	m := after.Member
	m.Since = before.Since
	return newEntry(m)
}
