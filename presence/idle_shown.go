package presence

import "slices"

// A store keeps the status that a user chose and, apart from it, whether the user is idle
// (rule 24). Whatever a Tracker reads has both in one: the status of an online user who is
// idle is Idle. Only there Member.Idle is set, and not for a user who chose another status.

// shownIdle returns the status that is shown of a user of a topic who is idle or not, and
// whether it is so because of that.
func shownIdle(topic Topic, status Status, idle bool) (Status, bool) {
	switch {
	case !idle:
		return status, false
	case topic != devicesTopic:
		if status.Base() != Online {
			return status, false
		}
		return status.turned(Idle), true
	}
	w := readWord(status)
	if w.status != Online {
		return status, false
	}
	w.status = Idle
	return w.asStatus(), true
}

// showIdle is shownIdle for each of some members. It copies the members if one changes: a
// store may keep what it returns.
func showIdle(topic Topic, members []Member) []Member {
	first := slices.IndexFunc(members, func(m Member) bool { return m.Idle })
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

func (d Diff) showIdle(topic Topic) Diff {
	d.Joins, d.Updates = showIdle(topic, d.Joins), showIdle(topic, d.Updates)
	return d
}
