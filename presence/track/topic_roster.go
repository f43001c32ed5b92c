package track

import (
	"iter"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
	"github.com/tidwall/btree"
)

// A roster has the users of a topic, in two orders. Its trees are copied on write, so a copy for a View costs
// almost nothing.
type roster struct {
	byID    *btree.BTreeG[*entry]
	bySince *btree.BTreeG[*entry]
	probes  *sync.Pool // of *entry, to search by
}

func newRoster(probes *sync.Pool) roster {
	options := btree.Options{NoLocks: true}
	return roster{
		byID:    btree.NewBTreeGOptions(func(a, b *entry) bool { return a.ID < b.ID }, options),
		bySince: btree.NewBTreeGOptions(func(a, b *entry) bool { return presence.NewestFirst(a.Member, b.Member) < 0 }, options),
		probes:  probes,
	}
}

// get returns a user's entry, nil if absent. Every page view calls it, so it allocates
// nothing.
func (r roster) get(id presence.UserID) *entry {
	probe := r.probes.Get().(*entry)
	defer r.probes.Put(probe)
	probe.ID = id
	e, _ := r.byID.Get(probe)
	return e
}

// devicesOf calls each with the devices of a user, which are members of backend.DevicesTopic, in the order of
// their ids, until each returns false. They are adjacent, because no id has a character between the end of
// the user and wire.DeviceSeparator. If each never returned false, devicesOf returns the member that follows
// them; nil: there is none. It allocates nothing.
func (r roster) devicesOf(user presence.UserID, each func(*entry) bool) (behind *entry) {
	probe := r.probes.Get().(*entry)
	defer r.probes.Put(probe)
	probe.ID = user
	r.byID.Ascend(probe, func(e *entry) bool {
		if len(e.ID) <= len(user) || e.ID[:len(user)] != user || e.ID[len(user)] != wire.DeviceSeparator[0] {
			behind = e
			return e.ID == user
		}
		return each(e)
	})
	return behind
}

func (r roster) set(e *entry) {
	if old, ok := r.byID.Set(e); ok {
		r.bySince.Delete(old)
	}
	r.bySince.Set(e)
}

func (r roster) remove(id presence.UserID) {
	if old, ok := r.byID.Delete(&entry{Member: presence.Member{User: presence.User{ID: id}}}); ok {
		r.bySince.Delete(old)
	}
}

// apply removes the users who left, and sets those who joined.
func (r roster) apply(n net) {
	for _, l := range n.leaves {
		r.remove(l.ID)
	}
	for _, e := range n.joins {
		r.set(e)
	}
}

func (r roster) len() int { return r.byID.Len() }

func (r roster) copy() roster { return roster{r.byID.Copy(), r.bySince.Copy(), r.probes} }

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

// rosterChanges yields the changes of a diff. Their entries before are not set.
func rosterChanges(d backend.Diff) iter.Seq[rosterChange] {
	return func(yield func(rosterChange) bool) {
		for _, m := range d.Joins {
			if !yield(rosterChange{id: m.ID, after: newEntry(m)}) {
				return
			}
		}
		for _, m := range d.Updates {
			if !yield(rosterChange{id: m.ID, present: true, after: newEntry(m)}) {
				return
			}
		}
		for _, l := range d.Leaves {
			if !yield(rosterChange{id: l.ID, present: true, left: l}) {
				return
			}
		}
	}
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

// difference returns the changes that lead from one roster to another, whatever happened between.
func difference(before, after roster) net {
	var n net
	after.byID.Scan(func(e *entry) bool {
		if was := before.get(e.ID); was == nil || !was.LooksLike(e.Member) {
			n.joins = append(n.joins, e)
		}
		return true
	})
	before.byID.Scan(func(e *entry) bool {
		if after.get(e.ID) == nil {
			n.leaves = append(n.leaves, backend.Departure{ID: e.ID})
		}
		return true
	})
	return n
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

// keepSince gives each user who is also in an older roster that roster's Since, because its readers never saw
// the user leave. The user keeps Active too: a store that lost its data has the moment of the restore for all
// users. earlier reports whether a user's Since in the store was earlier than in the older roster: the store
// is back at a state from before the user left and came.
func (r roster) keepSince(older roster) (earlier bool) {
	var changed []*entry
	r.byID.Scan(func(e *entry) bool {
		was := older.get(e.ID)
		if kept := stayed(was, e); kept != e {
			kept.Active = was.Active
			earlier = earlier || e.Since.Before(was.Since)
			changed = append(changed, kept)
		}
		return true
	})
	for _, e := range changed {
		r.set(e)
	}
	return earlier
}
