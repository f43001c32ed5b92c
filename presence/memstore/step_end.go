package memstore

import (
	"cmp"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// diff ends the step: users with leases stay in the topic, users without are removed. It
// returns the changes that others see, or nil if there are none.
func (s *atomicStep) diff() *backend.Diff {
	t, d := s.topic, backend.Diff{}
	for i := range s.touched {
		before := &s.touched[i]
		u := before.now
		u.visible = len(u.leases) > 0 && !u.hides()
		before.came = cmp.Or(before.came, s.now)
		u.Idle = u.idle()
		s.setActive(before)
		switch {
		case u.visible && !before.visible:
			u.Since = before.came
			t.total++
			delete(t.seen, u.ID)
			d.Joins = append(d.Joins, u.Member)
		case !u.visible && before.visible:
			t.total--
			d.Leaves = append(d.Leaves, s.depart(before))
		case u.visible && !u.Same(before.Member):
			d.Updates = append(d.Updates, u.Member)
		}
		if before.viewed && !u.hides() {
			t.views.add(u.ID)
		}
		if u.Status.Unseen() {
			delete(t.seen, u.ID)
		}
		s.remember(before)
		if len(u.leases) > 0 {
			t.users[u.ID] = u
		} else {
			delete(t.users, u.ID)
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

// depart returns the leave of a user. It stores when the user was last seen, unless the user is unseen (rule
// 21).
func (s *atomicStep) depart(before *userBefore) backend.Departure {
	u := before.now
	if u.Status.Unseen() {
		return backend.Departure{ID: u.ID}
	}
	at := before.left()
	s.topic.seen[u.ID] = at
	return backend.Departure{ID: u.ID, LastSeen: at}
}

// left returns when a user left who was visible before the step and is not visible now. A user who came back
// invisible left before coming back.
func (b *userBefore) left() time.Time {
	if !b.lapsed.IsZero() && b.now.hides() {
		return b.lapsed
	}
	return b.now.seen
}

// setActive applies rule 16 to a user.
func (s *atomicStep) setActive(before *userBefore) {
	u := before.now
	switch {
	case !s.topic.keep.Active:
		u.Active = time.Time{}
	case u.visible && (before.viewed || !before.visible):
		u.Active = later(u.Active, before.came.Truncate(time.Minute))
	}
}

// remember applies rules 15 and 21 to a user.
func (s *atomicStep) remember(before *userBefore) {
	names, u := s.topic.names, before.now
	if names == nil {
		return
	}
	switch {
	case u.Status.Unseen(), before.signedOut && !u.hides() && s.topic.keep.ForgetSignedOut:
		names.remove(u.ID)
	case u.hides() && !before.visible: // the actions of an invisible user change nothing
	case before.viewed && !u.hides(), u.visible && (!before.visible || before.Status.Unseen()):
		names.put(u.User, before.came)
	case before.visible && !u.visible:
		names.put(u.User, before.left())
	case u.visible:
		names.rename(u.User)
	}
	names.trim(s.topic.keep.Names)
}

// record returns the topic's record after the step (rule 17).
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
