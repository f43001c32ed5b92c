package memstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A member is what a topic knows of a user or device (rule 3). Moments are zero for what never was.
type member struct {
	presence.Member
	listed   bool      // others see the member
	profiled time.Time // the moment of the profile
	known    bool      // the profile was told since the member came: the member may be listed
	joined   time.Time // when a page joined last
	out      time.Time // the latest sign-out
	off      time.Time // the latest sign-out, also of one browser or device
	seen     time.Time // the last proof of life of what has ended
	leases   []*lease  // two or three, so a slice beats a map
}

// A lease holds a member until it expires. Its moment is expires - length.
type lease struct {
	member  presence.UserID
	holder  presence.Holder // a connection, HolderWeb, HolderGrace, or memory
	expires time.Time
	length  time.Duration
	gen     int32 // of a connection, as rev
	rev     int64
	joined  time.Time // of a connection: when the latest page joined
	idle    bool
	pages   int
	ended   bool // of a connection: it holds nobody, and an older word of it counts no more
}

// memory is the holder of a lease that holds nobody. Until it expires, the topic remembers what it knows of the member, so that
// what comes late revives nobody.
const memory presence.Holder = ""

const memoryFor = 10 * time.Second

// maxWords is how many leases and ends of connections are known of a member before the ends are forgotten: a fleet that is
// deployed each hour has ever other processes.
const maxWords = 40

func (l *lease) moment() time.Time { return l.expires.Add(-l.length) }

// holds reports whether a lease holds its member.
func (l *lease) holds() bool { return l.holder != memory && !l.ended }

func nextToExpire(a, b *lease) bool {
	return cmp.Or(a.expires.Compare(b.expires), cmp.Compare(a.member, b.member), cmp.Compare(a.holder, b.holder)) < 0
}

// held reports whether a lease holds the member, even one that has expired and is not swept yet.
func (m *member) held() bool { return slices.ContainsFunc(m.leases, (*lease).holds) }

// isOver reports whether all leases that hold the member have expired.
func (m *member) isOver(now time.Time) bool {
	return !slices.ContainsFunc(m.leases, func(l *lease) bool { return l.holds() && l.expires.After(now) })
}

// idle reports whether nobody is at any page of the member (rule 6).
func (m *member) idle() bool {
	return m.held() && !slices.ContainsFunc(m.leases, func(l *lease) bool { return l.holds() && !l.idle })
}

// hides reports whether others do not see that the member is there (rule 2).
func (m *member) hides() bool { return m.Status.Base() == presence.Invisible }

// pages returns how many pages hold a member.
func (m *member) pages() (n int) {
	for _, l := range m.leases {
		n += l.pages
	}
	return n
}

// holders returns what holds a member, in order.
func (m *member) holders() (holders []presence.Holder) {
	for _, l := range m.leases {
		if l.holds() {
			holders = append(holders, l.holder)
		}
	}
	slices.Sort(holders)
	return holders
}

// tidy forgets the ended connections of a member, once nothing holds the member and no memory runs.
func (m *member) tidy() {
	if !m.held() && m.lease(memory) == nil {
		m.leases = nil
	}
}

func (m *member) lease(h presence.Holder) *lease {
	for _, l := range m.leases {
		if l.holder == h {
			return l
		}
	}
	return nil
}

// isVoid reports whether the moments of the member end a lease: see rule 3.
func (m *member) isVoid(l *lease) bool {
	switch l.holder {
	case memory:
		return false
	case presence.HolderWeb:
		return !l.moment().After(later(m.off, m.joined))
	case presence.HolderGrace:
		return !l.moment().After(m.off) || !m.out.IsZero() && !m.joined.After(m.out)
	}
	return !l.joined.After(m.out)
}

// describe takes the profile of a moment.
func (m *member) describe(u presence.User, at time.Time) {
	if !at.Before(m.profiled) {
		u.Status, u.Visibility, u.Rev = m.Status, m.Visibility, m.Rev
		m.User, m.profiled = u, at
	}
	m.known = true
}

// choose takes a status and a visibility, and reports whether it did.
func (m *member) choose(u presence.User) bool {
	if u.Status == "" && u.Visibility == nil || u.Rev < m.Rev {
		return false
	}
	m.Rev, m.Status, m.Visibility = u.Rev, cmp.Or(u.Status, m.Status), cmp.Or(u.Visibility, m.Visibility)
	return true
}

// inspect returns a member with the leases, which are ordered by holder.
func (m *member) inspect(now time.Time) backend.Inspected {
	in := backend.Inspected{Member: m.Member}
	if !m.listed {
		in.Since, in.Active = time.Time{}, time.Time{}
	}
	for _, h := range m.holders() {
		l := m.lease(h)
		in.Leases = append(in.Leases, backend.Lease{Holder: h, Pages: l.pages, Left: l.expires.Sub(now)})
	}
	return in
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
