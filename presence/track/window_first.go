package track

import (
	"hash/fnv"
	"strconv"

	"github.com/rollcall-go/rollcall/presence"
)

// firstUsers are the first users of a roster, newest first. They never change.
type firstUsers struct {
	users []*entry
	byID  map[presence.UserID]*entry
	sum   string // a short hash of the users and their order
}

func newFirstUsers(users []*entry) *firstUsers {
	f, h := &firstUsers{users: users, byID: make(map[presence.UserID]*entry, len(users))}, fnv.New32a()
	for _, e := range users {
		f.byID[e.ID] = e
		h.Write([]byte(e.ID))
		h.Write([]byte{0})
	}
	f.sum = strconv.FormatUint(uint64(h.Sum32()), 36)
	return f
}

// first returns the first n users. All windows of one size share them. All windows with room for the whole roster share
// one, whatever their sizes.
func (v *View) first(n int) *firstUsers {
	n = min(n, v.Total)
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.firsts[n]
	if f == nil {
		f = newFirstUsers(v.newest(n))
		if v.firsts == nil {
			v.firsts = make(map[int]*firstUsers)
		}
		if len(v.firsts) < maxStates {
			v.firsts[n] = f
		}
	}
	return f
}
