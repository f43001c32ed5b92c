package track

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A store keeps the status that a user chose, and separately whether the user is idle (rule 6). A Tracker
// combines both when it reads: the status of an online user who is idle becomes Idle, and Member.Idle is set.
// A user who chose another status keeps it.

// shownIdle returns the status that is shown of a user, and whether it is Idle because the user is idle.
func shownIdle(status presence.Status, idle bool) (presence.Status, bool) {
	if !idle || status.Base() != presence.Online {
		return status, false
	}
	return turned(status, presence.Idle), true
}

// showIdle applies shownIdle to members. It copies the slice if one changes, because a store may keep what it
// returns.
func showIdle(members []presence.Member) []presence.Member {
	first := slices.IndexFunc(members, func(m presence.Member) bool { return m.Idle })
	if first < 0 {
		return members
	}
	members = slices.Clone(members)
	for i := range members[first:] {
		m := &members[first+i]
		if m.Visibility == nil {
			m.Status, m.Idle = shownIdle(m.Status, m.Idle)
			continue
		}
		v := *m.Visibility
		v.Status, m.Idle = shownIdle(v.Status, m.Idle)
		m.Visibility = &v
	}
	return members
}

func showIdleOf(d backend.Diff) backend.Diff {
	d.Joins, d.Updates = showIdle(d.Joins), showIdle(d.Updates)
	return d
}

// turned returns the status to, with a "-" at the end if s has one.
func turned(s presence.Status, to presence.Status) presence.Status {
	if s.Unseen() {
		return to + wire.UnseenMark
	}
	return to
}
