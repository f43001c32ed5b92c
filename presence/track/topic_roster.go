package track

import (
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

// difference returns the changes that lead from one roster to another, whatever happened between. told says
// that users who left were last seen about now. It is false on a site with a Directory, because a user may
// have turned unseen between the two (rule 21 of [backend.Store]).
func difference(before, after roster, told bool) net {
	var n net
	after.byID.Scan(func(e *entry) bool {
		if was := before.get(e.ID); was == nil || !was.LooksLike(e.Member) {
			n.joins = append(n.joins, e)
		}
		return true
	})
	var now time.Time
	if told {
		now = time.Now()
	}
	before.byID.Scan(func(e *entry) bool {
		if after.get(e.ID) == nil {
			n.leaves = append(n.leaves, backend.Departure{ID: e.ID, LastSeen: now})
		}
		return true
	})
	return n
}
