package memstore

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An atomicStep is one atomic step in a topic: it remembers how each user that
// it touches was before, so that its diff holds only what changed on the whole.
type atomicStep struct {
	topic   *topicState
	now     time.Time
	began   uint64 // topic.joins then
	touched []userBefore
	index   map[presence.UserID]int
}

// A userBefore is how a user was when the step began.
type userBefore struct {
	presence.Member
	visible bool
	now     *presentUser // also after the last lease went
}

func (t *topicState) begin(now time.Time) *atomicStep {
	return &atomicStep{topic: t, now: now, began: t.joins, index: make(map[presence.UserID]int)}
}

// touch returns the user with the leases that are really there: expired ones go
// first (rule 1).
func (s *atomicStep) touch(id presence.UserID) *presentUser {
	_, known := s.index[id]
	u := s.note(id)
	if !known {
		s.lapse(u)
	}
	return u
}

// note returns the user, made where it is new, and remembers how it was.
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

// apply does one operation. It returns false for a heartbeat or a follow of a
// lease that is gone.
func (s *atomicStep) apply(op presence.Op) bool {
	switch op.Kind {
	case presence.OpGuest:
		s.topic.guests.add(op.Guest)
		s.turnFrom(s.now)
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

// join makes a lease, or renews the one that is held, with the newest profile.
func (s *atomicStep) join(u *presentUser, held *heldLease, op presence.Op) {
	u.take(op.User)
	u.seen = s.now
	if held == nil {
		held = s.hold(u, op.Holder, op.For)
	}
	// A join that follows a page view in one step is after it also when the
	// step comes again (rule 12).
	web := u.lease(presence.HolderWeb)
	if held.order == 0 || op.Kind == presence.OpSeen || web != nil && web.order > s.began {
		s.topic.joins++
		held.order = s.topic.joins
	}
	held.renew(s.now, op.For)
}

// heartbeat lengthens a lease. Who is not otherwise touched by the step is not
// swept by it.
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

// turnFrom starts the period of sets that were empty.
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

// grace holds a user in place of a connection that was released.
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

// closeTab keeps rule 6, after a connection ended: was it the last, an older
// page view holds no longer.
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
			continue // closeTab was faster
		}
		s.end(u, l)
		s.closeTab(u, l)
	}
}

// sweep removes up to most expired leases, by the user.
func (s *atomicStep) sweep(most int) (leases int) {
	for leases < most && s.topic.due(s.now) {
		had := len(s.topic.expiry)
		s.touch(s.topic.expiry[0].user)
		leases += had - len(s.topic.expiry)
	}
	return leases
}

// sweepRecent removes expired leases that were renewed a short while ago.
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

// diff settles the step: who has leases is there, who has none is gone. It
// returns what changed for others, or nil.
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

// take makes the newest profile the user's. A status that it does not name
// stays as it was.
func (u *presentUser) take(p presence.User) {
	p.Status = cmp.Or(p.Status, u.Status, presence.Online)
	u.User = p
}

// update is take for a profile that may be the status alone.
func (u *presentUser) update(p presence.User) {
	if p.StatusOnly() {
		u.Status = cmp.Or(p.Status, u.Status)
		return
	}
	u.take(p)
}

// renew never shortens.
func (l *heldLease) renew(now time.Time, d time.Duration) {
	if until := now.Add(d); until.After(l.expires) {
		l.expires, l.length = until, d
	}
}
