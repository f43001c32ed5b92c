package memstore

import "github.com/rollcall-go/rollcall/presence"

// viewSets are the users who viewed a page in this period, and in the one before.
type viewSets struct {
	current, old map[presence.UserID]struct{}
	oldOnly      int // users in old who are not in current
}

func (v *viewSets) add(id presence.UserID) {
	if _, ok := v.current[id]; ok {
		return
	}
	if v.current == nil {
		v.current = make(map[presence.UserID]struct{})
	}
	v.current[id] = struct{}{}
	if _, ok := v.old[id]; ok {
		v.oldOnly--
	}
}

func (v *viewSets) remove(id presence.UserID) {
	_, inCurrent := v.current[id]
	if _, ok := v.old[id]; ok && !inCurrent {
		v.oldOnly--
	}
	delete(v.current, id)
	delete(v.old, id)
}

func (v *viewSets) has(id presence.UserID) bool {
	_, current := v.current[id]
	_, old := v.old[id]
	return current || old
}

func (v *viewSets) turn() { v.old, v.current, v.oldOnly = v.current, nil, len(v.current) }

func (v *viewSets) count() int { return len(v.current) + v.oldOnly }
