package memstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// hold makes a lease.
func (s *atomicStep) hold(u *presentUser, holder presence.Holder, d time.Duration) *heldLease {
	l := &heldLease{user: u.ID, holder: holder, expires: s.now.Add(d), length: d}
	u.leases = append(u.leases, l)
	s.topic.expiry.Set(l)
	return l
}

// lengthen makes a lease end at a later moment. It reports whether the lease did not last as long already.
func (s *atomicStep) lengthen(l *heldLease, until time.Time) bool {
	if !until.After(l.expires) {
		return false
	}
	s.topic.expiry.Delete(l)
	l.expires = until
	s.topic.expiry.Set(l)
	return true
}

// grace holds a user for a while after a connection was released. idle says whether that connection was idle.
// A grace that follows several connections is idle if all of them were (rule 24).
func (s *atomicStep) grace(u *presentUser, d time.Duration, idle bool) {
	if d <= 0 {
		return
	}
	l := u.lease(presence.HolderGrace)
	if l == nil {
		l = s.hold(u, presence.HolderGrace, d)
		l.idle = idle
	}
	l.idle = l.idle && idle
	s.renew(l, d, d)
}

// end removes a lease.
func (s *atomicStep) end(u *presentUser, l *heldLease) {
	u.leases = slices.DeleteFunc(u.leases, func(m *heldLease) bool { return m == l })
	s.topic.expiry.Delete(l)
}

// lapse removes a user's expired leases.
func (s *atomicStep) lapse(u *presentUser) {
	for _, l := range slices.Clone(u.leases) {
		if !l.expires.After(s.now) {
			s.end(u, l)
		}
	}
	if len(u.leases) == 0 {
		u.Rev, u.joined = 0, time.Time{}
	}
}

// sweep removes about most expired leases, and returns how many it removed.
func (s *atomicStep) sweep(most int) (leases int) {
	for leases < most && s.topic.due(s.now) {
		had := s.topic.expiry.Len()
		first, _ := s.topic.expiry.Min()
		s.lapse(s.note(first.user))
		leases += had - s.topic.expiry.Len()
	}
	return leases
}

func (u *presentUser) lease(h presence.Holder) *heldLease {
	for _, l := range u.leases {
		if l.holder == h {
			return l
		}
	}
	return nil
}

// live reports whether a lease that has not expired holds the user.
func (u *presentUser) live(now time.Time) bool {
	return slices.ContainsFunc(u.leases, func(l *heldLease) bool { return l.expires.After(now) })
}

// connected reports whether a connection holds the user.
func (u *presentUser) connected() bool {
	return slices.ContainsFunc(u.leases, func(l *heldLease) bool { return l.holder.IsConnection() })
}

// idle reports whether nobody is at any page of the user (rule 24).
func (u *presentUser) idle() bool {
	return len(u.leases) > 0 && !slices.ContainsFunc(u.leases, func(l *heldLease) bool { return !l.idle })
}

// hides reports whether others do not see that the user is there (rule 2).
func (u *presentUser) hides() bool { return u.Status.Base() == presence.Invisible }

// take stores the newest profile. A profile without a status or a visibility keeps the former one.
func (s *atomicStep) take(u *presentUser, p presence.User) {
	p = u.latest(p)
	s.turn(u, p.Status)
	u.User = p
}

// latest returns a profile with the status and the visibility that count (rule 28).
func (u *presentUser) latest(p presence.User) presence.User {
	if p.Status == "" && p.Visibility == nil || p.Rev < u.Rev {
		p.Status, p.Visibility, p.Rev = u.Status, u.Visibility, u.Rev
	}
	p.Status = cmp.Or(p.Status, u.Status, presence.Online)
	p.Visibility = cmp.Or(p.Visibility, u.Visibility)
	p.Rev = max(p.Rev, u.Rev)
	return p
}

// update is take for a profile whose other fields may be empty: then only the status and the visibility
// change.
func (s *atomicStep) update(u *presentUser, op backend.Op) {
	hid := u.hides()
	if op.User.StatusOnly() {
		p := u.latest(op.User)
		s.turn(u, p.Status)
		u.Visibility, u.Rev = p.Visibility, p.Rev
	} else {
		s.take(u, op.User)
	}
	if before := s.before(u); op.Ago > 0 && u.hides() && !hid && before.lapsed.IsZero() {
		before.lapsed = later(s.at(op), u.Since)
	}
}

// turn sets a user's status. A change to seen, visible or invisible is a proof of life (rules 2 and 21). A
// user who had left, and comes back visible or seen, leaves again after that moment.
func (s *atomicStep) turn(u *presentUser, to presence.Status) {
	shows, hides := u.Status.Unseen() && !to.Unseen(), to.Base() == presence.Invisible
	if shows || u.hides() != hides {
		u.seen, s.before(u).came = s.now, s.now
	}
	if shows || !hides {
		s.before(u).lapsed = time.Time{}
	}
	u.Status = to
}

// beat lengthens a lease, and never shortens it. If d is less than the lease's length, the proof of life was
// earlier by the difference (rule 7).
func (s *atomicStep) beat(u *presentUser, l *heldLease, d time.Duration) {
	until := s.now.Add(d)
	l.length = max(l.length, d)
	s.lengthen(l, until)
	u.seen = later(u.seen, until.Add(-l.length))
}

// renew lengthens the lease by a join, a page view or a grace, and never ends it sooner. length is from the proof of
// life to the end.
func (s *atomicStep) renew(l *heldLease, d, length time.Duration) {
	if s.lengthen(l, s.now.Add(d)) {
		l.length = length
	}
}
