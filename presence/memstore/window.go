package memstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A window has what came in the current period or in the previous one, and whether it came in the current one.
type window[K comparable] map[K]bool

func (w *window[K]) add(k K) {
	if *w == nil {
		*w = make(window[K])
	}
	(*w)[k] = true
}

func (w window[K]) has(k K) bool {
	_, ok := w[k]
	return ok
}

// turn makes the current period the previous one.
func (w window[K]) turn() {
	for k, now := range w {
		if now {
			w[k] = false
		} else {
			delete(w, k)
		}
	}
}

// trim removes the users whose moment is before a given one, and all but the most latest ones. It returns how many
// it removed.
func trim[V any](users map[presence.UserID]V, moment func(V) time.Time, before time.Time, most int) (forgotten int) {
	type entry struct {
		id presence.UserID
		at time.Time
	}
	all := make([]entry, 0, len(users))
	for id, v := range users {
		all = append(all, entry{id, moment(v)})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id, a.id)) })
	for i, e := range all {
		if i >= most || e.at.Before(before) {
			delete(users, e.id)
			forgotten++
		}
	}
	return forgotten
}
