package memstore

import (
	"cmp"
	"sort"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/tidwall/btree"
)

// A nameList remembers users by name (rule 9). A nil list is empty.
type nameList struct {
	users map[presence.UserID]*remembered
	all   *btree.BTreeG[*remembered] // by the latest activity, the newest first, and then by ID
}

type remembered struct {
	presence.User
	active time.Time
}

func newNameList() *nameList {
	latestFirst := func(a, b *remembered) bool {
		return cmp.Or(b.active.Compare(a.active), cmp.Compare(a.ID, b.ID)) < 0
	}
	return &nameList{
		users: make(map[presence.UserID]*remembered),
		all:   btree.NewBTreeGOptions(latestFirst, btree.Options{NoLocks: true}),
	}
}

func (l *nameList) len() int {
	if l == nil {
		return 0
	}
	return l.all.Len()
}

// put remembers that a user was active at a moment, unless a later moment is known.
func (l *nameList) put(u presence.User, active time.Time) {
	r := l.users[u.ID]
	if r == nil {
		r = &remembered{User: u, active: active.Round(0)}
		l.users[u.ID] = r
		l.all.Set(r)
		return
	}
	r.User = u
	if !active.After(r.active) {
		return
	}
	l.all.Delete(r)
	r.active = active.Round(0) // without the monotonic clock, so that it equals the time in a page mark
	l.all.Set(r)
}

// rename stores the new profile of a user, if the user is remembered.
func (l *nameList) rename(u presence.User) {
	if r := l.users[u.ID]; r != nil {
		r.User = u
	}
}

func (l *nameList) remove(id presence.UserID) {
	r := l.users[id]
	if r == nil {
		return
	}
	l.all.Delete(r)
	delete(l.users, id)
}

// trim forgets the least recently active users, down to most.
func (l *nameList) trim(most int) {
	for l.all.Len() > most {
		last, _ := l.all.Max()
		l.remove(last.ID)
	}
}

// forget forgets the users who were last active before a moment.
func (l *nameList) forget(before time.Time) {
	for l.len() > 0 {
		last, _ := l.all.Max()
		if !last.active.Before(before) {
			return
		}
		l.remove(last.ID)
	}
}

// since returns how many users were active since a moment.
func (l *nameList) since(t time.Time) int {
	return sort.Search(l.len(), func(i int) bool {
		r, _ := l.all.GetAt(i)
		return r.active.Before(t)
	})
}
