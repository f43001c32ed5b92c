package memstore

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An atomicStep is one atomic step in a topic. It remembers the former state of each user
// that it touches, so that its diff holds only net changes: a user who leaves and joins
// in one step is not in the diff.
type atomicStep struct {
	topic   *topicState
	now     time.Time
	began   uint64 // topic.joins at the start
	touched []userBefore
	index   map[presence.UserID]int
}

// A userBefore is the state of a user when the step began.
type userBefore struct {
	presence.Member
	visible bool
	now     *presentUser // the user now, even without a lease
}

func (t *topicState) begin(now time.Time) *atomicStep {
	return &atomicStep{topic: t, now: now, began: t.joins, index: make(map[presence.UserID]int)}
}

// touch returns a user without expired leases: it ends these first (rule 1).
func (s *atomicStep) touch(id presence.UserID) *presentUser {
	_, known := s.index[id]
	u := s.note(id)
	if !known {
		s.lapse(u)
	}
	return u
}

// note returns a user, made if it is new, and remembers the user's state.
func (s *atomicStep) note(id presence.UserID) *presentUser {
	if i, ok := s.index[id]; ok {
		return s.touched[i].now
	}
	u := s.topic.users[id]
	if u == nil {
		u = &presentUser{Member: presence.Member{User: presence.User{ID: id}}}
	}
	s.index[id] = len(s.touched)
	s.touched = append(s.touched, userBefore{Member: u.Member, visible: u.visible, now: u})
	return u
}

// apply does one operation. It returns false for a heartbeat or follow whose lease is
// gone.
func (s *atomicStep) apply(op presence.Op) bool {
	switch op.Kind {
	case presence.OpGuest:
		s.topic.guests.add(op.Guest)
		s.turnFrom(s.now)
		return true
	case presence.OpForgetGuest:
		s.topic.guests.remove(op.Guest)
		return true
	case presence.OpHeartbeat, presence.OpFollow:
		return s.heartbeat(op)
	case presence.OpSeen:
		s.topic.views.add(op.User.ID)
		s.turnFrom(s.now)
		op.Holder = presence.HolderWeb
	}
	u := s.touch(op.User.ID)
	held := u.lease(op.Holder)
	switch op.Kind {
	case presence.OpJoin, presence.OpSeen:
		s.join(u, held, op)
	case presence.OpRelease:
		if held != nil {
			u.seen = s.now
			s.end(u, held)
			s.grace(u, op.For)
			s.closeTab(u, held)
		}
	case presence.OpDrop:
		if held != nil {
			s.end(u, held)
			s.closeTab(u, held)
		}
	case presence.OpSignOut:
		s.topic.views.remove(u.ID)
		if len(u.leases) > 0 {
			u.seen = s.now
		}
		for len(u.leases) > 0 {
			s.end(u, u.leases[0])
		}
	case presence.OpUpdate:
		if len(u.leases) > 0 {
			u.update(op.User)
		}
	}
	return true
}

// join makes a lease, or renews the held one, and takes the profile.
func (s *atomicStep) join(u *presentUser, held *heldLease, op presence.Op) {
	u.take(op.User)
	u.seen = s.now
	if held == nil {
		held = s.hold(u, op.Holder, op.For)
	}
	// A join behind a page view in the same step is later than the page view, also
	// when the step is repeated (rule 12).
	web := u.lease(presence.HolderWeb)
	if held.order == 0 || op.Kind == presence.OpSeen || web != nil && web.order > s.began {
		s.topic.joins++
		held.order = s.topic.joins
	}
	held.renew(s.now, op.For)
}

// heartbeat lengthens a lease. It does not end expired leases of its user.
func (s *atomicStep) heartbeat(op presence.Op) bool {
	u := s.topic.users[op.User.ID]
	if i, ok := s.index[op.User.ID]; ok {
		u = s.touched[i].now
	}
	if u == nil {
		return false
	}
	held := u.lease(op.Holder)
	if held == nil || !held.expires.After(s.now) {
		return false
	}
	u.seen = s.now
	held.renew(s.now, op.For)
	if op.Kind == presence.OpFollow {
		s.topic.joins++
		held.order = s.topic.joins
	}
	return true
}

// turnFrom starts the period of the sets, if they were empty.
func (s *atomicStep) turnFrom(now time.Time) {
	if s.topic.aged.IsZero() {
		s.topic.aged = now
	}
}

// hold makes a lease.
func (s *atomicStep) hold(u *presentUser, holder presence.Holder, d time.Duration) *heldLease {
	until := s.now.Add(d)
	l := &heldLease{user: u.ID, holder: holder, expires: until, length: d, due: until}
	u.leases = append(u.leases, l)
	heap.Push(&s.topic.expiry, l)
	return l
}

// grace holds a user for a while after a connection was released.
func (s *atomicStep) grace(u *presentUser, d time.Duration) {
	if d <= 0 {
		return
	}
	if l := u.lease(presence.HolderGrace); l != nil {
		l.renew(s.now, d)
		return
	}
	s.hold(u, presence.HolderGrace, d)
}

// end removes a lease.
func (s *atomicStep) end(u *presentUser, l *heldLease) {
	u.leases = slices.DeleteFunc(u.leases, func(m *heldLease) bool { return m == l })
	heap.Remove(&s.topic.expiry, l.index)
}

// closeTab keeps rule 6 after a connection ended: if it was the user's last one, it ends
// the lease of an older page view.
func (s *atomicStep) closeTab(u *presentUser, last *heldLease) {
	if !last.holder.IsConnection() {
		return
	}
	for _, l := range u.leases {
		if l.holder.IsConnection() {
			return
		}
	}
	if web := u.lease(presence.HolderWeb); web != nil && web.order < last.order {
		s.end(u, web)
	}
}

// lapse removes a user's expired leases.
func (s *atomicStep) lapse(u *presentUser) {
	var expired []*heldLease
	for _, l := range u.leases {
		if !l.expires.After(s.now) {
			expired = append(expired, l)
		}
	}
	slices.SortFunc(expired, func(a, b *heldLease) int {
		return cmp.Or(a.expires.Compare(b.expires), cmp.Compare(a.order, b.order))
	})
	for _, l := range expired {
		if l.index < 0 {
			continue // closeTab ended it
		}
		s.end(u, l)
		s.closeTab(u, l)
	}
}

// sweep removes about most expired leases, and returns how many it removed.
func (s *atomicStep) sweep(most int) (leases int) {
	for leases < most && s.topic.due(s.now) {
		had := len(s.topic.expiry)
		s.touch(s.topic.expiry[0].user)
		leases += had - len(s.topic.expiry)
	}
	return leases
}

// sweepRecent removes the expired leases that were renewed within a time.
func (s *atomicStep) sweepRecent(within time.Duration) (leases int) {
	for _, l := range slices.Clone(s.topic.expiry) {
		renewed := l.expires.Add(-l.length)
		if l.index < 0 || l.expires.After(s.now) || s.now.Sub(renewed) > within {
			continue
		}
		had := len(s.topic.expiry)
		u := s.note(l.user)
		s.end(u, l)
		s.closeTab(u, l)
		leases += had - len(s.topic.expiry)
	}
	return leases
}

// diff ends the step: users with leases stay in the topic, users without are removed. It
// returns the changes that others see, or nil if there are none.
func (s *atomicStep) diff() *presence.Diff {
	t, d := s.topic, presence.Diff{}
	for _, before := range s.touched {
		u := before.now
		u.visible = len(u.leases) > 0 && u.Status != presence.Invisible
		switch {
		case u.visible && !before.visible:
			u.Since = s.now
			t.total++
			delete(t.seen, u.ID)
			d.Joins = append(d.Joins, u.Member)
		case !u.visible && before.visible:
			t.total--
			t.seen[u.ID] = u.seen
			d.Leaves = append(d.Leaves, presence.Departure{ID: u.ID, LastSeen: u.seen})
		case u.visible && !u.SameProfile(before.User):
			d.Updates = append(d.Updates, u.Member)
		}
		if len(u.leases) > 0 && u.Status == presence.Invisible {
			t.views.remove(u.ID)
		}
		if len(u.leases) > 0 {
			t.users[u.ID] = u
		} else {
			delete(t.users, u.ID)
		}
	}
	if size(d) == 0 {
		return nil
	}
	d.Total = t.total
	return &d
}

func (u *presentUser) lease(h presence.Holder) *heldLease {
	for _, l := range u.leases {
		if l.holder == h {
			return l
		}
	}
	return nil
}

// take stores the newest profile. A profile without a status keeps the former one.
func (u *presentUser) take(p presence.User) {
	p.Status = cmp.Or(p.Status, u.Status, presence.Online)
	u.User = p
}

// update is take for a profile that may consist of the status alone.
func (u *presentUser) update(p presence.User) {
	if p.StatusOnly() {
		u.Status = cmp.Or(p.Status, u.Status)
		return
	}
	u.take(p)
}

// renew lengthens the lease, and never shortens it.
func (l *heldLease) renew(now time.Time, d time.Duration) {
	if until := now.Add(d); until.After(l.expires) {
		l.expires, l.length = until, d
	}
}
