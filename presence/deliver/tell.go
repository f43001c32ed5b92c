package deliver

import (
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// tell makes events of a diff.
func (l *leader) tell(f *followed, d backend.Diff) {
	for _, m := range slices.Concat(d.Joins, d.Updates) {
		l.join(f, m, string(d.ID))
		f.Latest = later(f.Latest, m.Since)
	}
	for _, left := range d.Leaves {
		l.leave(f, left, string(d.ID))
		f.Latest = later(f.Latest, left.LastSeen)
	}
	l.move(f, d.ID)
}

// join makes a join, unless the consumer was told of the user already. Then join only notes the user's name.
// source names the diff or the list that has the user.
func (l *leader) join(f *followed, m presence.Member, source string) {
	was, told := f.users[m.ID]
	now := toldUser{m.Name, m.Since}
	if told {
		now.Since = was.Since
	} else {
		l.event(Event{Type: Join, Topic: f.topic, User: presence.User{ID: m.ID, Name: m.Name}, Since: m.Since}, source)
	}
	if f.users[m.ID] = now; now != was {
		l.set(toldKey(f.topic, m.ID), encode(now))
	}
}

// leave makes a leave, if the consumer was told of the user's join.
func (l *leader) leave(f *followed, left backend.Departure, source string) {
	was, told := f.users[left.ID]
	if !told {
		return
	}
	e := Event{Type: Leave, Topic: f.topic, User: presence.User{ID: left.ID, Name: was.Name}, Since: was.Since}
	if !left.LastSeen.IsZero() {
		e.LastSeen = later(left.LastSeen, e.Since)
		e.Seconds = e.LastSeen.Sub(e.Since).Seconds()
	}
	l.event(e, source)
	delete(f.users, left.ID)
	l.set(toldKey(f.topic, left.ID), "")
}

// leaveAll makes the leaves of users who are not there, without a leave in any diff. The store may know when such
// a user was last seen. It returns false if the store did not answer.
func (l *leader) leaveAll(ctx context.Context, f *followed, there map[presence.UserID]bool, source string) bool {
	var gone []presence.UserID
	for id := range f.users {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for some := range slices.Chunk(gone, 500) {
		seen, err := l.node.Store.Sightings(ctx, f.topic, some...)
		if err != nil {
			return false
		}
		for i, id := range some {
			left := backend.Departure{ID: id}
			if seen[i].LastSeen.After(f.users[id].Since) { // else it is of an earlier session
				left.LastSeen = seen[i].LastSeen
			}
			l.leave(f, left, source)
		}
	}
	return true
}
