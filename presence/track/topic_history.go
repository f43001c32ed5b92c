package track

import (
	"slices"

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
	mixed    bool // some versions say otherwise than those of other nodes: then no reader goes on from one of the store's
	limit    int  // the most versions
	changes  int  // number of changes in all versions
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
	h.versions, h.mixed = append(h.versions, v), h.mixed || v.local
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

// size returns the number of changes from one position to another, before merging.
func (h *history) size(from, to int) (changes int) {
	for _, v := range h.versions[max(from-h.dropped, 0) : to-h.dropped] {
		changes += len(v.changes)
	}
	return changes
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
		for c := range rosterChanges(d) {
			c.before = known[c.id]
			v.changes = append(v.changes, c)
			if c.after != nil {
				known[c.id] = c.after
			} else {
				delete(known, c.id)
			}
		}
		h.add(v)
	}
	return h, log[n:]
}
