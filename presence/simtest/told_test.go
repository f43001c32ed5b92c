package simtest_test

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// What a page is told of a user is held against when the user hid, signed out, went and came. Each check here names a
// fault, and testdata/allowed.txt says which failure allows the fault, and for how long.

const (
	onTheWay  = 300 * time.Millisecond // an event was made at most so long ago: people have a window of 250 ms
	hides     = time.Second + onTheWay // others may see a user who hid
	catchesUp = 3 * time.Second        // a node does, after something went wrong
)

// finds is for when a check finds a fault of what is shown of a user. lasts is how long ago the user hid, signed out or
// went: what the page reads may have been held up for a part of that.
func (s *picture) finds(fault string, u *person, lasts time.Duration, format string, args ...any) {
	if !s.allows(fault, u, lasts) {
		s.fault(format, args...)
	}
}

// allows reports whether an exception allows a fault.
func (s *picture) allows(fault string, u *person, lasts time.Duration) bool {
	return s.p.w.allows(finding{fault: fault, w: s.p.w, at: s.p.process, s: s, u: u, lasts: lasts, held: s.p.waited})
}

// reads is how late the page reads the event that it takes: one that beats, or that asks for other topics,
// reads nothing until nodes have answered.
func (p *page) reads() time.Duration { return onTheWay + p.waited }

// ago returns how long ago a moment was that the world's mutex guards; 0: it never was.
func (w *world) ago(at *time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.IsZero() {
		return 0
	}
	return time.Since(*at)
}

// told checks a user of whom the page is told. A user who has hidden must not be shown.
func (s *picture) told(user, by string) {
	u := s.p.w.person(user)
	if u == nil {
		return
	}
	if hidden := s.p.w.ago(&u.hidden); hidden > s.p.reads() {
		s.finds("shown-hidden", u, hidden, "is told by %s of %s, who hid %v ago", by, user, hidden)
	}
}

// joins is for when a diff has a user who was not there. paced is for a diff to a window of a larger topic, which is sent
// once the window's bytes allow it. Such a window, and a page that has just come, may hear of who is there for the grace.
func (s *picture) joins(user string, paced bool) {
	u, w := s.p.w.person(user), s.p.w
	if u == nil || u.kind == visits || w.stays(u) {
		return
	}
	out, gone, due := w.ago(&u.out), w.ago(&u.gone), s.p.reads()
	if out > due {
		s.finds("shown-signed-out", u, out, "is told that %s joins, who signed out %v ago", user, out)
	}
	if paced || s.fresh {
		due = max(due, w.game.leaves())
	}
	if gone > due {
		s.finds("comes-back", u, gone, "is told that %s joins, who went %v ago", user, gone)
	}
}

// leaves is how long after the last page closed a user leaves everywhere: a sweep may be a second late.
func (g game) leaves() time.Duration { return g.grace() + g.sweep() + time.Second }

// drops is for when a user is no longer there: that must be as soon as is promised.
func (s *picture) drops(user string) {
	u, w := s.p.w.person(user), s.p.w
	if u == nil || u.kind == visits || s.old {
		return
	}
	if hidden := w.ago(&u.hidden); hidden > hides+s.p.waited && !s.fresh {
		s.finds("hidden-stays", u, hidden, "has had %s, who hid, for %v", user, hidden)
	}
	if gone := w.ago(&u.gone); gone > w.game.leaves()+s.p.waited {
		s.finds("stays-too-long", u, gone, "has had %s for %v since the last page closed", user, gone)
	}
}

// has is for when a user comes back: no page has the user who had gone before, and was due. What a
// page showed before it connected, or in a topic that it no longer shows, may be old.
func (w *world) has(u *person) {
	for _, p := range w.everyPage() {
		p.mu.Lock()
		for _, s := range p.pictures {
			if s.topic == thread && !slices.Contains(p.topics, thread) || s.fresh {
				continue
			}
			if s.roster[u.id] != "" && p.conn != nil {
				s.drops(u.id)
			}
		}
		p.mu.Unlock()
	}
}

// returns is for when a state of another node lists a user again whom the page saw leave. The store's log says that the
// user left, and a node reads it before it takes a page that has seen more: no page goes back in time. Not so who watches
// people: that cursor names no version, so that it tells nothing of who is hidden. Nor of who has just hidden, as each
// node hides the user when it hears of that.
func (s *picture) returns(user string, now profile) {
	u := s.p.w.person(user)
	if u == nil || s.topic == presence.PeopleTopic || s.went[user] != now.Since || u.hidesNow() {
		return
	}
	s.finds("taken-back", u, time.Since(s.parted[user]), "is taken back to when %s was there, who left", user)
}

// hidesNow reports whether a user is choosing something, or hid in the last second.
func (u *person) hidesNow() bool {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	return u.status == unknown || u.changing > 0 || time.Since(u.hidden) < hides
}

// parts is for when who watches people is told that a user left. Who hides leaves as others do: with
// the moment when the user was last seen. Not so if the user's settings hide that moment.
func (s *picture) parts(user string, how departure) {
	u := s.p.w.person(user)
	if u == nil {
		return
	}
	s.p.w.mu.Lock()
	hides := !u.hidden.IsZero() // also at this very moment
	s.p.w.mu.Unlock()
	if hides && how.LastSeen == "" && s.p.w.tellsLastSeen(u) {
		s.finds("left-unseen", u, 0, "is told that %s left, who hid, and not when the user was last seen", user)
	}
}

// goes notes that the last page of a user closed, or (false) that one opens.
func (u *person) goes(gone bool) {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	if u.gone = (time.Time{}); gone {
		u.gone = time.Now()
	} else {
		u.out, u.outID = time.Time{}, ""
	}
}

func (w *world) person(id string) *person {
	for _, u := range w.persons {
		if u.id == id {
			return u
		}
	}
	return nil
}
