package feed

import (
	"cmp"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// PageItems is how many items a state event holds.
const PageItems = 20

// loadedItems is how many items a feed reads for its states. Some of them may leave the list
// before the feed has to read again.
const loadedItems = 2 * PageItems

// A view is a feed at one revision. It never changes.
type view struct {
	cfg   *Config
	name  Name
	head  Head
	known bool // head was read
	stale bool // the database is out

	warm bool   // top and more are known
	top  []Item // the newest listed items
	more bool   // there are older ones

	// changed has each item whose Rev is above base, the newest first. Readers with a revision of base or
	// later can resume with a diff.
	base    int64
	changed []Item
}

// version returns the view for readers. No reader can resume from a view of which nothing is known.
func (v *view) version() track.LineVersion {
	w := track.LineVersion{
		ID: track.NoVersion, Stale: v.stale, Since: v.diffSince,
		Heartbeat: encodeHeartbeat(v.name, v.head, v.known, v.stale),
		Waiting:   encodeHeartbeat(v.name, v.head, false, v.stale),
	}
	if v.known {
		w.ID = versionOf(v.name, v.head)
	}
	if v.warm {
		w.State = v.state
	}
	return w
}

func (v *view) state() []byte {
	items := v.top[:min(len(v.top), PageItems)]
	return v.cfg.encodePage(v.name, Page{v.head, items, v.more || len(v.top) > len(items)}, false)
}

// diffSince implements track.LineVersion.Since.
func (v *view) diffSince(have presence.DiffID) ([]byte, bool) {
	if !v.known {
		return nil, false
	}
	rev, ok := revisionIn(v.name, v.head, have)
	switch {
	case !ok || rev < v.base:
		return nil, false
	case rev == v.head.Rev:
		return nil, true
	}
	prev := presence.NewCursor(v.name.Topic(), have)
	return v.cfg.encodeChanges(v.name, prev, v.head, itemsAfter(v.changed, rev), false), true
}

// itemsAfter returns the items whose Rev is above rev.
func itemsAfter(items []Item, rev int64) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Rev <= rev })
}

// serves reports whether a reader with a version can begin without the database.
func (v *view) serves(have presence.DiffID) bool {
	if !v.known {
		return false
	}
	if rev, ok := revisionIn(v.name, v.head, have); ok {
		return rev >= v.base
	}
	return v.warm
}

// next returns the view after changes. They must be all changes since v.head.Rev.
func (v *view) next(h Head, changes []Item) *view {
	w := *v
	w.head, w.known, w.stale = h, true, false
	w.changed = merged(v.changed, changes)
	if over := len(w.changed) - MaxBehind; over > 0 {
		revs := make([]int64, len(w.changed))
		for i, item := range w.changed {
			revs[i] = item.Rev
		}
		slices.Sort(revs)
		w.base = revs[over-1]
		w.changed = itemsAfter(w.changed, w.base)
	}
	if v.warm {
		w.top = w.listed(merged(v.top, changes))
		if len(w.top) > loadedItems {
			w.top, w.more = w.top[:loadedItems], true
		}
		w.warm = !w.more || len(w.top) >= PageItems
	}
	return &w
}

// listed returns those items that are on the list, and in the range that v knows of it.
func (v *view) listed(items []Item) []Item {
	lowest := int64(0)
	if v.more && len(v.top) > 0 {
		lowest = v.top[len(v.top)-1].Pos
	}
	return slices.DeleteFunc(items, func(i Item) bool { return !i.State.Listed() || i.Pos < lowest })
}

// merged replaces items by their newer versions, and adds new ones, the newest first.
func merged(items, newer []Item) []Item {
	ids := make(map[string]bool, len(newer))
	for _, i := range newer {
		ids[i.ID] = true
	}
	all := make([]Item, 0, len(items)+len(newer))
	for _, i := range items {
		if !ids[i.ID] {
			all = append(all, i)
		}
	}
	all = append(all, newer...)
	slices.SortFunc(all, func(a, b Item) int { return cmp.Compare(b.Pos, a.Pos) })
	return all
}

// cold returns the view without the items for future readers.
func (v *view) cold() *view {
	w := *v
	w.warm, w.top, w.more = false, nil, false
	w.base, w.changed = v.head.Rev, nil
	return &w
}
