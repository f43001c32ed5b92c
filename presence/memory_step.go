package presence

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// A memoryStep is one atomic step in a topic: it remembers how each user that
// it touches was before, so that its diff holds only what changed on the whole.
type memoryStep struct {
	topic   *memoryTopic
	now     time.Time
	began   uint64 // topic.joins then
	touched []memoryBefore
	index   map[UserID]int
}

// A memoryBefore is how a user was when the step began.
type memoryBefore struct {
	Member
	visible bool
	now     *memoryUser // also after the last lease went
}

func (t *memoryTopic) begin(now time.Time) *memoryStep {
	return &memoryStep{topic: t, now: now, began: t.joins, index: make(map[UserID]int)}
}

// touch returns the user with the leases that are really there: expired ones go
// first (rule 1).
func (s *memoryStep) touch(id UserID) *memoryUser {
	_, known := s.index[id]
	u := s.note(id)
	if !known {
		s.lapse(u)
	}
	return u
}

// note returns the user, made where it is new, and remembers how it was.
func (s *memoryStep) note(id UserID) *memoryUser {
	if i, ok := s.index[id]; ok {
		return s.touched[i].now
	}
	u := s.topic.users[id]
	if u == nil {
		u = &memoryUser{Member: Member{User: User{ID: id}}}
	}
	s.index[id] = len(s.touched)
	s.touched = append(s.touched, memoryBefore{Member: u.Member, visible: u.visible, now: u})
	return u
}

// apply does one operation. It returns false for a heartbeat or a follow of a
// lease that is gone.
func (s *memoryStep) apply(op Op) bool {
	switch op.Kind {
	case OpGuest:
		s.topic.guests.add(op.Guest)
		s.turnFrom(s.now)
		return true
	case OpHeartbeat, OpFollow:
		return s.heartbeat(op)
	case OpSeen:
		s.topic.views.add(op.User.ID)
		s.turnFrom(s.now)
		op.Holder = HolderWeb
	}
	u := s.touch(op.User.ID)
	held := u.lease(op.Holder)
	switch op.Kind {
	case OpJoin, OpSeen:
		s.join(u, held, op)
	case OpRelease:
		if held != nil {
			u.seen = s.now
			s.end(u, held)
			s.grace(u, op.For)
			s.closeTab(u, held)
		}
	case OpDrop:
		if held != nil {
			s.end(u, held)
			s.closeTab(u, held)
		}
	case OpSignOut:
		s.topic.views.remove(u.ID)
		if len(u.leases) > 0 {
			u.seen = s.now
		}
		for len(u.leases) > 0 {
			s.end(u, u.leases[0])
		}
	case OpUpdate:
		if len(u.leases) > 0 {
			u.update(op.User)
		}
	}
	return true
}

// join makes a lease, or renews the one that is held, with the newest profile.
func (s *memoryStep) join(u *memoryUser, held *memoryLease, op Op) {
	u.take(op.User)
	u.seen = s.now
	if held == nil {
		held = s.hold(u, op.Holder, op.For)
	}
	// A join that follows a page view in one step is after it also when the
	// step comes again (rule 12).
	web := u.lease(HolderWeb)
	if held.order == 0 || op.Kind == OpSeen || web != nil && web.order > s.began {
		s.topic.joins++
		held.order = s.topic.joins
	}
	held.renew(s.now, op.For)
}

// heartbeat lengthens a lease. Who is not otherwise touched by the step is not
// swept by it.
func (s *memoryStep) heartbeat(op Op) bool {
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
	if op.Kind == OpFollow {
		s.topic.joins++
		held.order = s.topic.joins
	}
	return true
}

// turnFrom starts the period of sets that were empty.
func (s *memoryStep) turnFrom(now time.Time) {
	if s.topic.aged.IsZero() {
		s.topic.aged = now
	}
}

// hold makes a lease.
func (s *memoryStep) hold(u *memoryUser, holder Holder, d time.Duration) *memoryLease {
	until := s.now.Add(d)
	l := &memoryLease{user: u.ID, holder: holder, expires: until, length: d, due: until}
	u.leases = append(u.leases, l)
	heap.Push(&s.topic.expiry, l)
	return l
}

// grace holds a user in place of a connection that was released.
func (s *memoryStep) grace(u *memoryUser, d time.Duration) {
	if d <= 0 {
		return
	}
	if l := u.lease(HolderGrace); l != nil {
		l.renew(s.now, d)
		return
	}
	s.hold(u, HolderGrace, d)
}

// end removes a lease.
func (s *memoryStep) end(u *memoryUser, l *memoryLease) {
	u.leases = slices.DeleteFunc(u.leases, func(m *memoryLease) bool { return m == l })
	heap.Remove(&s.topic.expiry, l.index)
}

// closeTab keeps rule 6, after a connection ended: was it the last, an older
// page view holds no longer.
func (s *memoryStep) closeTab(u *memoryUser, last *memoryLease) {
	if !last.holder.IsConnection() {
		return
	}
	for _, l := range u.leases {
		if l.holder.IsConnection() {
			return
		}
	}
	if web := u.lease(HolderWeb); web != nil && web.order < last.order {
		s.end(u, web)
	}
}

// lapse removes a user's expired leases.
func (s *memoryStep) lapse(u *memoryUser) {
	var expired []*memoryLease
	for _, l := range u.leases {
		if !l.expires.After(s.now) {
			expired = append(expired, l)
		}
	}
	slices.SortFunc(expired, func(a, b *memoryLease) int {
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
func (s *memoryStep) sweep(most int) (leases int) {
	for leases < most && s.topic.due(s.now) {
		had := len(s.topic.expiry)
		s.touch(s.topic.expiry[0].user)
		leases += had - len(s.topic.expiry)
	}
	return leases
}

// sweepRecent removes expired leases that were renewed a short while ago.
func (s *memoryStep) sweepRecent(within time.Duration) (leases int) {
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
func (s *memoryStep) diff() *Diff {
	t, d := s.topic, Diff{}
	for _, before := range s.touched {
		u := before.now
		u.visible = len(u.leases) > 0 && u.Status != Invisible
		switch {
		case u.visible && !before.visible:
			u.Since = s.now
			t.total++
			delete(t.seen, u.ID)
			d.Joins = append(d.Joins, u.Member)
		case !u.visible && before.visible:
			t.total--
			t.seen[u.ID] = u.seen
			d.Leaves = append(d.Leaves, Departure{ID: u.ID, LastSeen: u.seen})
		case u.visible && !u.SameProfile(before.User):
			d.Updates = append(d.Updates, u.Member)
		}
		if len(u.leases) > 0 && u.Status == Invisible {
			t.views.remove(u.ID)
		}
		if len(u.leases) > 0 {
			t.users[u.ID] = u
		} else {
			delete(t.users, u.ID)
		}
	}
	if d.size() == 0 {
		return nil
	}
	d.Total = t.total
	return &d
}

func (u *memoryUser) lease(h Holder) *memoryLease {
	for _, l := range u.leases {
		if l.holder == h {
			return l
		}
	}
	return nil
}

// take makes the newest profile the user's. A status that it does not name
// stays as it was.
func (u *memoryUser) take(p User) {
	p.Status = cmp.Or(p.Status, u.Status, Online)
	u.User = p
}

// update is take for a profile that may be the status alone.
func (u *memoryUser) update(p User) {
	if p.StatusOnly() {
		u.Status = cmp.Or(p.Status, u.Status)
		return
	}
	u.take(p)
}

// renew never shortens.
func (l *memoryLease) renew(now time.Time, d time.Duration) {
	if until := now.Add(d); until.After(l.expires) {
		l.expires, l.length = until, d
	}
}
