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

// shownIdle returns the status that is shown of a user of a topic who is idle or not, and
// whether it is so because of that.
func shownIdle(topic presence.Topic, status presence.Status, idle bool) (presence.Status, bool) {
	switch {
	case !idle:
		return status, false
	case topic != backend.DevicesTopic:
		if status.Base() != presence.Online {
			return status, false
		}
		return turned(status, presence.Idle), true
	}
	w := readWord(status)
	if w.status != presence.Online {
		return status, false
	}
	w.status = presence.Idle
	return w.asStatus(), true
}

// showIdle is shownIdle for each of some members. It copies the members if one changes: a
// store may keep what it returns.
func showIdle(topic presence.Topic, members []presence.Member) []presence.Member {
	first := slices.IndexFunc(members, func(m presence.Member) bool { return m.Idle })
	if first < 0 {
		return members
	}
	members = slices.Clone(members)
	for i := range members[first:] {
		m := &members[first+i]
		m.Status, m.Idle = shownIdle(topic, m.Status, m.Idle)
	}
	return members
}

func showIdleOf(d backend.Diff, topic presence.Topic) backend.Diff {
	d.Joins, d.Updates = showIdle(topic, d.Joins), showIdle(topic, d.Updates)
	return d
}

// turned returns another status for the same user: it ends with a "-" if s does.
func turned(s presence.Status, to presence.Status) presence.Status {
	if s.Unseen() {
		return to + wire.UnseenMark
	}
	return to
}
