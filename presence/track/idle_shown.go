package track

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A store keeps the status that a user chose and, apart from it, whether the user is idle
// (rule 24). Whatever a Tracker reads has both in one: the status of an online user who is
// idle is Idle. Only there Member.Idle is set, and not for a user who chose another status.

// shownIdle returns the status that is shown of a user who is idle or not, and whether it is so
// because of that.
func shownIdle(status presence.Status, idle bool) (presence.Status, bool) {
	if !idle || status.Base() != presence.Online {
		return status, false
	}
	return turned(status, presence.Idle), true
}

// showIdle shows which members are idle. It copies the members if one changes: a store may keep what
// it returns.
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

// turned returns another status for the same user: it ends with a "-" if s does.
func turned(s presence.Status, to presence.Status) presence.Status {
	if s.Unseen() {
		return to + wire.UnseenMark
	}
	return to
}
