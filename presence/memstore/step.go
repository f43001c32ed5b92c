package memstore

import (
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// An atomicStep is one atomic step in a topic: it merges what operations say, in any order, and ends by what follows from it. It
// remembers the former state of each member that it touches, so that its diff holds only net changes.
type atomicStep struct {
	topic   *topicState
	now     time.Time
	touched []touch
	index   map[presence.UserID]int
	peak    backend.Peak // only where the topic's Keep asks for it
}

// A touch is the state of a member when the step began, and what the step did.
type touch struct {
	presence.Member
	listed bool
	now    *member // the state now

	held      bool      // when the step began, or in it
	viewed    bool      // a page was viewed
	signedOut time.Time // the moment of a sign-out, also of one browser or device
	came      time.Time // latest page view or join, or turn to seen or visible; zero: now
	chose     time.Time // the moment of the OpUpdate by which the member hides
	parted    bool      // a release or a sign-out
	ends      bool      // the step tells of an end or a choice, which the topic remembers
}

func (t *topicState) begin(now time.Time) *atomicStep {
	return &atomicStep{topic: t, now: now, index: make(map[presence.UserID]int)}
}

// note returns a member, and creates it if it is new. It remembers the state before the step.
func (s *atomicStep) note(id presence.UserID) (*touch, *member) {
	if i, ok := s.index[id]; ok {
		return &s.touched[i], s.touched[i].now
	}
	m := s.topic.members[id]
	if m == nil {
		m = &member{Member: presence.Member{User: presence.User{ID: id}}}
	}
	s.index[id] = len(s.touched)
	s.touched = append(s.touched, touch{Member: m.Member, listed: m.listed, now: m, held: m.held()})
	return &s.touched[len(s.touched)-1], m
}

// merge takes what operations say. It returns the indexes of the heartbeats and keeps that hold nobody who is known.
func (s *atomicStep) merge(ops []backend.Op) (unknown []int) {
	for i, op := range ops {
		if op.Kind == backend.OpHeartbeat {
			if !s.beat(op) {
				unknown = append(unknown, i)
			}
		} else if !s.mergeOther(op) {
			s.mergeMember(op)
		}
	}
	for i := range s.touched {
		s.clean(&s.touched[i])
	}
	for i, op := range ops {
		if op.Kind == backend.OpKeep {
			_, m := s.note(op.User.ID)
			if l := m.lease(op.Holder); l == nil || l.ended || !m.known {
				unknown = append(unknown, i)
			}
		}
	}
	return unknown
}

// mergeOther takes an operation about no member. It returns false for any other.
func (s *atomicStep) mergeOther(op backend.Op) bool {
	switch op.Kind {
	case backend.OpGuest:
		s.topic.guests.add(op.Guest)
	case backend.OpForgetGuest:
		s.topic.guests.remove(op.Guest)
	case backend.OpBot:
		s.topic.bots.add(op.Guest, op.Bot)
	case backend.OpPeak:
		if s.peak = s.peak.Better(op.Peak); op.Peak == (backend.Peak{}) {
			s.peak = backend.Peak{At: s.now, Since: s.now}
		}
	default:
		return false
	}
	return true
}

// beat moves the end of a lease. It returns false if the member has no such lease.
func (s *atomicStep) beat(op backend.Op) bool {
	m := s.topic.members[op.User.ID]
	if i, ok := s.index[op.User.ID]; ok {
		m = s.touched[i].now // who may be new
	}
	if m == nil || !op.Holder.IsConnection() {
		return false
	}
	l := m.lease(op.Holder)
	if l == nil || l.ended {
		return false
	}
	s.topic.expiry.Delete(l)
	l.expires = later(l.expires, s.now.Add(op.For))
	s.topic.expiry.Set(l)
	return true
}

// mergeMember takes what an operation says of a member.
func (s *atomicStep) mergeMember(op backend.Op) {
	did, m := s.note(op.User.ID)
	at, joined := s.now.Add(-op.Ago), s.now.Add(-op.Joined)
	if m.choose(op.User) && m.hides() && op.Kind == backend.OpUpdate {
		did.chose = at
	}
	switch op.Kind {
	case backend.OpJoin, backend.OpKeep:
		did.came, m.joined = s.now, later(m.joined, joined)
		if op.Kind == backend.OpJoin {
			m.describe(op.User, joined)
		}
		s.say(m, op, false)
	case backend.OpRelease:
		did.ends, did.parted, m.seen = true, true, later(m.seen, at)
		s.say(m, op, true)
		if l := m.lease(presence.HolderGrace); op.For > 0 && (l == nil || s.now.Add(op.For).After(l.expires)) {
			s.put(m, lease{holder: presence.HolderGrace, length: op.For + op.Ago, idle: op.Idle}, op.For)
		}
	case backend.OpSeen:
		did.viewed, did.came = true, later(did.came, at)
		m.describe(op.User, at)
		if l := m.lease(presence.HolderWeb); l == nil || at.After(l.moment()) {
			s.put(m, lease{holder: presence.HolderWeb, length: op.For + op.Ago}, op.For)
		}
	case backend.OpUpdate:
		did.ends = true
	case backend.OpSignOut, backend.OpSignOff:
		did.ends, did.parted, did.signedOut, m.off = true, true, later(did.signedOut, at), later(m.off, at)
		if op.Kind == backend.OpSignOut {
			m.out = later(m.out, at)
		}
	}
	did.held = did.held || m.held()
}

// say takes the word of a connection's holder, unless a later one is known.
func (s *atomicStep) say(m *member, op backend.Op, ended bool) {
	if l := m.lease(op.Holder); l != nil && (op.Gen < l.gen || op.Gen == l.gen && op.Rev < l.rev) {
		return
	}
	word := lease{holder: op.Holder, gen: op.Gen, rev: op.Rev, ended: ended}
	if !ended {
		word.length, word.joined, word.idle, word.pages = op.For+op.Ago, s.now.Add(-op.Joined), op.Idle, op.Pages
	}
	s.put(m, word, op.For)
}

// put gives a member a lease from now on, in place of that of its holder.
func (s *atomicStep) put(m *member, l lease, d time.Duration) {
	was := m.lease(l.holder)
	if was == nil {
		was = &lease{}
		m.leases = append(m.leases, was)
	} else if !was.ended {
		s.topic.expiry.Delete(was)
	}
	l.member, l.expires = m.ID, s.now.Add(d)
	if *was = l; !l.ended {
		s.topic.expiry.Set(was)
	} else if len(m.leases) > maxWords {
		m.leases = slices.DeleteFunc(m.leases, func(l *lease) bool { return l.ended })
	}
}

// drop removes a lease.
func (s *atomicStep) drop(m *member, l *lease) {
	s.topic.expiry.Delete(l)
	m.leases = slices.DeleteFunc(m.leases, func(other *lease) bool { return other == l })
}

// clean ends what the moments of a member end. The topic remembers that for a while.
func (s *atomicStep) clean(did *touch) {
	m := did.now
	if !did.signedOut.IsZero() && did.held && (did.listed || !m.hides()) {
		m.seen = later(m.seen, did.signedOut)
	}
	for _, l := range slices.Clone(m.leases) {
		if l.holds() && m.isVoid(l) {
			if l.holder == presence.HolderWeb {
				m.seen = later(m.seen, l.moment())
			}
			s.drop(m, l)
			if did.ends = true; l.holder.IsConnection() { // the word stays
				m.leases = append(m.leases, &lease{member: l.member, holder: l.holder, gen: l.gen, rev: l.rev, ended: true})
			}
		}
	}
	switch old := m.lease(memory); {
	case did.ends && !m.held():
		s.put(m, lease{holder: memory}, memoryFor)
	case old != nil && m.held():
		s.drop(m, old)
	}
}

// lapse removes a member's expired leases, and returns how many held the member.
func (s *atomicStep) lapse(m *member) (leases int) {
	for _, l := range slices.Clone(m.leases) {
		if l.ended || l.expires.After(s.now) {
			continue
		}
		s.drop(m, l)
		if l.holder != memory {
			m.seen = later(m.seen, l.moment())
			leases++
		}
	}
	m.tidy()
	return leases
}

// forget ends all that is known of a member, who was seen until now.
func (s *atomicStep) forget(m *member) {
	for _, l := range m.leases {
		if !l.ended {
			s.topic.expiry.Delete(l)
		}
	}
	m.leases, m.seen = nil, s.now
}

// sweep removes about most expired leases, and returns how many it removed.
func (s *atomicStep) sweep(most int) (leases int) {
	for leases < most && s.topic.due(s.now) {
		first, _ := s.topic.expiry.Min()
		_, m := s.note(first.member)
		leases += s.lapse(m)
	}
	return leases
}

// sweepNode ends the leases of a process's connections, of all generations if it is dead, or of those before its present one. It
// returns how many it ended.
func (s *atomicStep) sweepNode(process string, of nodeLease, dead bool) (leases int) {
	for _, l := range s.topic.expiry.Items() {
		by := l.holder.Process()
		if !dead {
			by = strings.TrimSuffix(by, presence.Visits)
		}
		if by != process || !dead && l.gen >= of.gen {
			continue
		}
		_, m := s.note(l.member)
		m.seen = later(m.seen, l.moment())
		if dead {
			m.seen = later(m.seen, of.renewed)
		}
		s.drop(m, l)
		m.tidy()
		leases++
	}
	return leases
}
