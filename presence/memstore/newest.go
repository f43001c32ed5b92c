package memstore

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/tidwall/btree"
)

// newestUsers are the visible users of a topic, the newest first.
type newestUsers struct{ tree *btree.BTreeG[*presentUser] }

// fewUsers is the number of users up to which a topic is sorted only when it is read. Most topics never have
// more, and a sorted tree takes 300 bytes.
const fewUsers = 100

func compareNewest(a, b *presentUser) int { return presence.NewestFirst(a.Member, b.Member) }

func (n *newestUsers) set(u *presentUser) {
	if n != nil {
		n.tree.Set(u)
	}
}

func (n *newestUsers) remove(u *presentUser) {
	if n != nil {
		n.tree.Delete(u)
	}
}

// keepNewest builds the sorted tree once there are many users. Call it at the end of a step.
func (t *topicState) keepNewest() {
	if t.newest != nil || t.total <= fewUsers {
		return
	}
	less := func(a, b *presentUser) bool { return compareNewest(a, b) < 0 }
	t.newest = &newestUsers{btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
	for _, u := range t.users {
		if u.visible {
			t.newest.set(u)
		}
	}
}

// eachNewest calls do for each visible user, the newest first, until do returns false. It begins at the user
// from, if that is not nil.
func (t *topicState) eachNewest(from *presentUser, do func(*presentUser) bool) {
	switch {
	case t.newest == nil:
		few := make([]*presentUser, 0, t.total)
		for _, u := range t.users {
			if u.visible && (from == nil || compareNewest(u, from) >= 0) {
				few = append(few, u)
			}
		}
		slices.SortFunc(few, compareNewest)
		for _, u := range few {
			if !do(u) {
				return
			}
		}
	case from == nil:
		t.newest.tree.Scan(do)
	default:
		t.newest.tree.Ascend(from, do)
	}
}
