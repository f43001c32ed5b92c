package memstore

import (
	"slices"
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
	return &atomicStep{topic: t, now: now, index: make(map[presence.UserID]int)}
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

// apply does one operation. It returns false for a heartbeat or keep whose lease is gone.
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
			u.seen = later(u.seen, s.at(op))
			s.end(u, held)
			s.grace(u, op.For, held.idle)
		}
	case backend.OpDrop:
		if held != nil {
			s.end(u, held)
		}
	case backend.OpSignOut, backend.OpSignOff:
		s.hide(u, op)
		s.signOut(u, op)
	case backend.OpUpdate:
		if u.live(s.now) {
			s.update(u, op)
		}
	case backend.OpHeartbeat: // this and the next end no expired lease of the user
		if held == nil || !held.expires.After(s.now) {
			return false
		}
		s.beat(u, held, op.For)
	case backend.OpKeep:
		return s.keep(u, held, op)
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

// signOut ends what held the user until a moment (rule 19). It removes the user from the sets of page views, unless
// the user has come back since, the topic remembers users by name (rule 15), or the user is invisible. That of one
// browser ends no more than a page view, if a connection holds the user.
func (s *atomicStep) signOut(u *presentUser, op backend.Op) {
	before, at := s.before(u), s.at(op)
	if len(u.leases) > 0 && !u.hides() {
		u.seen = later(u.seen, at)
	}
	s.endView(u, at)
	if op.Kind == backend.OpSignOff && u.connected() {
		return
	}
	if !u.joined.After(at) {
		for _, l := range slices.Clone(u.leases) {
			if l.holder != presence.HolderWeb {
				s.end(u, l)
			}
		}
	}
	if len(u.leases) > 0 {
		return
	}
	before.signedOut = true
	switch keep := s.topic.keep; {
	case u.hides():
		before.viewed = false
	case keep.Names == 0 || keep.ForgetSignedOut:
		before.viewed = false
		delete(s.topic.views, u.ID)
	}
}

// join makes a lease, or renews the one that is held, and stores the profile.
func (s *atomicStep) join(u *presentUser, held *heldLease, op backend.Op) {
	s.take(u, op.User)
	before := s.before(u)
	before.signedOut = false
	if op.Kind == backend.OpSeen {
		s.view(u, held, op)
		return
	}
	u.seen, before.came = s.now, s.now
	if held == nil {
		held = s.hold(u, op.Holder, op.For)
	}
	s.renew(held, op.For, op.For)
	s.speak(u, held, op)
}

// keep renews a lease, or makes it if another connection holds the user. It returns false if none does.
func (s *atomicStep) keep(u *presentUser, held *heldLease, op backend.Op) bool {
	if held == nil || !held.expires.After(s.now) {
		if !slices.ContainsFunc(u.leases, func(l *heldLease) bool { return l.holder.IsConnection() && l.expires.After(s.now) }) {
			return false
		}
		if held != nil {
			s.end(u, held)
		}
		held = s.hold(u, op.Holder, op.For)
	}
	s.beat(u, held, op.For)
	s.speak(u, held, op)
	return true
}

// view takes a page view. It makes no lease if it is earlier than the latest join (rule 6).
func (s *atomicStep) view(u *presentUser, held *heldLease, op backend.Op) {
	at, before := s.at(op), s.before(u)
	u.seen, before.came, before.viewed = later(u.seen, at), later(before.came, at), true
	switch {
	case len(u.leases) > 0 && u.joined.After(at):
		return
	case held == nil:
		held = s.hold(u, presence.HolderWeb, 0)
	}
	s.renew(held, op.For, op.For+op.Ago)
}

// speak takes what a node says of its pages. They take the place of the page views before the latest of them joined
// (rule 6).
func (s *atomicStep) speak(u *presentUser, held *heldLease, op backend.Op) {
	at := s.at(op)
	held.idle, held.pages = op.Idle, op.Pages
	u.joined = later(u.joined, at)
	s.endView(u, at)
}

// endView ends the lease of a page view until a moment.
func (s *atomicStep) endView(u *presentUser, until time.Time) {
	if web := u.lease(presence.HolderWeb); web != nil && !web.expires.Add(-web.length).After(until) {
		s.end(u, web)
	}
}

// at returns the moment of an operation.
func (s *atomicStep) at(op backend.Op) time.Time { return s.now.Add(-op.Ago) }
