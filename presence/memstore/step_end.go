package memstore

import (
	"cmp"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// diff ends the step: it removes the members of whom nothing is known any more, and
// returns the changes that others see. It returns nil if others see no change.
func (s *atomicStep) diff() *backend.Diff {
	t, d := s.topic, backend.Diff{}
	for i := range s.touched {
		did := &s.touched[i]
		m := did.now
		s.turn(did)
		m.listed = m.held() && m.known && !m.hides() && (did.listed || !m.isOver(s.now))
		did.came = cmp.Or(did.came, s.now)
		m.Idle = m.idle()
		s.setActive(did)
		switch {
		case m.listed && !did.listed:
			m.Since = did.came
			t.total++
			delete(t.seen, m.ID)
			d.Joins = append(d.Joins, m.Member)
		case !m.listed && did.listed:
			t.total--
			d.Leaves = append(d.Leaves, s.depart(did))
		case m.listed && !m.Same(did.Member):
			d.Updates = append(d.Updates, m.Member)
		}
		s.setViewed(did)
		if m.Status.Unseen() && (m.held() || did.listed) {
			delete(t.seen, m.ID)
		}
		s.remember(did)
		m.known = m.known && m.held()
		if len(m.leases) > 0 {
			t.members[m.ID] = m
		} else {
			delete(t.members, m.ID)
		}
	}
	if t.aged.IsZero() && !t.unvisited() {
		t.aged = s.now // the first period begins
	}
	if size(d) == 0 {
		return nil
	}
	d.Total = t.total
	return &d
}

// turn notes a change to seen or visible, which is a proof of life (rules 2 and 5).
func (s *atomicStep) turn(did *touch) {
	m := did.now
	m.Status = cmp.Or(m.Status, presence.Online)
	shows, hid := did.Status.Unseen() && !m.Status.Unseen(), did.Status.Base() == presence.Invisible
	if shows || hid && !m.hides() {
		m.seen, did.came = s.now, s.now
	}
}

// depart returns the leave of a member. It stores when the member was last seen, unless the member is unseen (rule 5).
func (s *atomicStep) depart(did *touch) backend.Departure {
	m := did.now
	if m.Status.Unseen() {
		return backend.Departure{ID: m.ID}
	}
	at := s.left(did)
	s.topic.seen[m.ID] = at
	return backend.Departure{ID: m.ID, LastSeen: at}
}

// left returns when a member left who was listed before the step and is not now. Who hides left at the moment of the choice, if
// an OpUpdate told it. Who comes back invisible left before that, if the step says when.
func (s *atomicStep) left(did *touch) time.Time {
	m := did.now
	switch {
	case m.hides() && !did.chose.IsZero():
		return later(did.chose, m.Since)
	case m.hides() && !did.parted, m.seen.IsZero():
		return s.now
	}
	return m.seen
}

// isOut reports whether a sign-out of the step ended all that held the member.
func (did *touch) isOut() bool { return !did.signedOut.IsZero() && !did.now.held() }

// setViewed puts a member into the current set of page views, or takes a member who signed out from both (rule 8).
func (s *atomicStep) setViewed(did *touch) {
	keep := s.topic.keep
	switch {
	case did.now.hides():
	case did.isOut() && (keep.Names == 0 || keep.ForgetSignedOut):
		delete(s.topic.views, did.now.ID)
	case did.viewed:
		s.topic.views.add(did.now.ID)
	}
}

// setActive sets the minute of the latest page view or join (rule 9).
func (s *atomicStep) setActive(did *touch) {
	m := did.now
	switch {
	case !s.topic.keep.Active:
		m.Active = time.Time{}
	case m.listed && (did.viewed || !did.listed):
		m.Active = later(m.Active, did.came.Truncate(time.Minute))
	}
}

// remember remembers a member by name (rules 5 and 9).
func (s *atomicStep) remember(did *touch) {
	names, m := s.topic.names, did.now
	if names == nil {
		return
	}
	switch {
	case m.Status.Unseen() && (m.held() || did.listed), did.isOut() && !m.hides() && s.topic.keep.ForgetSignedOut:
		names.remove(m.ID)
	case m.hides() && !did.listed: // the actions of an invisible user change nothing
	case did.viewed && !m.hides() && !m.Status.Unseen(), m.listed && (!did.listed || did.Status.Unseen()):
		names.put(m.User, did.came)
	case did.listed && !m.listed:
		names.put(m.User, s.left(did))
	case m.listed:
		names.rename(m.User)
	}
	names.trim(s.topic.keep.Names)
}

// record returns the topic's record after the step (rule 9).
func (s *atomicStep) record() backend.Peak {
	online := s.topic.total
	if s.topic.keep.PeakGuests {
		online += s.topic.guests.count()
	}
	if online > s.peak.Total {
		s.peak.Total, s.peak.At = online, s.now
	}
	return s.peak
}
