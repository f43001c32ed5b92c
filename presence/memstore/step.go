package memstore

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
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
	peak    backend.Peak // only where the topic's Keep asks for it
}

// A userBefore is the state of a user when the step began, and what the step did.
type userBefore struct {
	presence.Member
	visible bool
	now     *presentUser // the user's state now, even without a lease

	viewed    bool      // viewed a page, and did not sign out after it
	signedOut bool      // signed out, and did not come back
	came      time.Time // latest page view or join, or turn to seen or visible; zero: now
	lapsed    time.Time // last seen of a visible user whose last lease ended, and who did not come back visible; else zero
}

func (t *topicState) begin(now time.Time) *atomicStep {
	return &atomicStep{topic: t, now: now, began: t.joins, index: make(map[presence.UserID]int)}
}

// lapseFirst ends the expired leases of users who join, view a page or sign out in the step. Those of other
// users are left to a sweep (rule 5).
func (s *atomicStep) lapseFirst(ops []backend.Op) {
	for _, op := range ops {
		switch op.Kind {
		case backend.OpJoin, backend.OpSeen, backend.OpSignOut, backend.OpSignOff:
			s.lapse(s.note(op.User.ID))
		}
	}
}

// note returns a user, and creates it if it is new. It remembers the user's state before the step.
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// before returns the state that note remembered of a user.
func (s *atomicStep) before(u *presentUser) *userBefore { return &s.touched[s.index[u.ID]] }

// apply does one operation. It returns false for a heartbeat, follow or attend whose lease
// is gone.
func (s *atomicStep) apply(op backend.Op) bool {
	switch op.Kind {
	case backend.OpGuest:
		s.topic.guests.add(op.Guest)
		return true
	case backend.OpForgetGuest:
		s.topic.guests.remove(op.Guest)
		return true
	case backend.OpBot:
		s.topic.bots.add(op.Guest, op.Bot)
		return true
	case backend.OpPeak:
		s.peak = s.peak.Better(op.Peak)
		return true
	case backend.OpResetPeak:
		s.peak = backend.Peak{At: s.now, Since: s.now}
		return true
	case backend.OpSeen:
		op.Holder = presence.HolderWeb
	}
	u := s.note(op.User.ID)
	if before := s.before(u); before.visible && before.lapsed.IsZero() && len(u.leases) == 0 {
		before.lapsed = u.seen
	}
	held := u.lease(op.Holder)
	switch op.Kind {
	case backend.OpJoin, backend.OpSeen:
		s.join(u, held, op)
	case backend.OpRelease: // even if the lease has expired
		if held != nil {
			u.seen = s.now
			s.end(u, held)
			s.grace(u, op.For, held.idle)
			s.closeTab(u, held)
		}
	case backend.OpDrop:
		if held != nil && !held.viewedWithin(op, s.now) {
			s.end(u, held)
			s.closeTab(u, held)
		}
	case backend.OpSignOut:
		s.hide(u, op)
		s.signOut(u)
	case backend.OpSignOff:
		s.hide(u, op)
		s.signOff(u, held)
	case backend.OpUpdate:
		if u.live(s.now) {
			s.update(u, op)
		}
	case backend.OpHeartbeat, backend.OpFollow, backend.OpAttend: // these end no expired lease of the user
		if held == nil || !held.expires.After(s.now) {
			return false
		}
		s.beat(u, held, op.For)
		if op.Kind == backend.OpAttend {
			held.idle = op.Idle
		}
		if op.Kind == backend.OpFollow && !s.laterView(u.lease(presence.HolderWeb), op) {
			s.toLast(u, held)
		}
	}
	return true
}

// hide makes a user invisible if the operation, a sign-out, says that the user is.
func (s *atomicStep) hide(u *presentUser, op backend.Op) {
	if op.User.Status.Base() == presence.Invisible {
		p := u.latest(op.User)
		s.turn(u, p.Status)
		u.Rev = p.Rev
	}
}

// signOut ends all leases of the user. It removes the user from the sets of page views, unless the topic
// remembers users by name (rule 15) or the user is invisible.
func (s *atomicStep) signOut(u *presentUser) {
	before := s.before(u)
	before.signedOut = true
	if len(u.leases) > 0 && !u.hides() {
		u.seen = s.now
	}
	for len(u.leases) > 0 {
		s.end(u, u.leases[0])
	}
	switch keep := s.topic.keep; {
	case u.hides():
		before.viewed = false
	case keep.Names == 0 || keep.ForgetSignedOut:
		before.viewed = false
		delete(s.topic.views, u.ID)
	}
}

// signOff ends the lease of one connection, if there is one. If the user has no other connection, it ends
// everything (rule 19).
func (s *atomicStep) signOff(u *presentUser, held *heldLease) {
	if len(u.leases) > 0 {
		u.seen = s.now
	}
	if held != nil && held.holder.IsConnection() {
		s.end(u, held)
	}
	if !u.connected() {
		s.signOut(u)
	}
}

// join makes a lease, or renews the one that is held, and stores the profile.
func (s *atomicStep) join(u *presentUser, held *heldLease, op backend.Op) {
	s.take(u, op.User)
	at := s.now
	if op.Kind == backend.OpSeen && op.ViewFor > 0 {
		at = at.Add(op.For - op.ViewFor)
	}
	before := s.before(u)
	u.seen, before.came = later(u.seen, at), later(before.came, at)
	before.viewed, before.signedOut = before.viewed || op.Kind == backend.OpSeen, false
	if held == nil {
		held = s.hold(u, op.Holder, op.For)
	}
	// A join that follows a page view in the same step counts as later than the page view, also when the step
	// is repeated (rule 12).
	web := u.lease(presence.HolderWeb)
	switch fresh := held.order == 0; {
	case fresh && s.laterView(web, op):
		held.order = web.order
	case fresh, op.Kind == backend.OpSeen, web != nil && web.order > s.began && !s.laterView(web, op):
		s.toLast(u, held)
	}
	held.idle = op.Idle && op.Kind == backend.OpJoin
	s.renew(held, op.For)
	if op.Kind == backend.OpSeen && op.ViewFor > 0 && held.expires.Equal(s.now.Add(op.For)) {
		held.length = op.ViewFor
	}
}

// laterView reports whether the lease of a page view, which may be nil, is later than a join or follow that
// is repeated after a loss of data.
func (s *atomicStep) laterView(web *heldLease, op backend.Op) bool {
	return op.ViewFor > 0 && web != nil && web.expires.After(s.now.Add(op.ViewFor))
}

// toLast makes a lease the latest in the order of rule 6. A connection then takes the place of the page views
// before it (rule 24).
func (s *atomicStep) toLast(u *presentUser, l *heldLease) {
	s.topic.joins++
	l.order = s.topic.joins
	if web := u.lease(presence.HolderWeb); web != nil {
		web.idle = true
	}
}
