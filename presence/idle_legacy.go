package presence

import "slices"

// Nodes of an older version, which may be there while a fleet is updated, know nothing of
// rule 24 of [Store]. Such a node asks all nodes whether a user is attended (NoticeIdle), and
// without an answer writes the status [Idle] in place of the one that the user chose.

// hearIdle answers an older node that asks whether somebody is at a page of a user.
func (a *attention) hearIdle(user UserID) {
	a.users.mu.Lock()
	u := a.users.byID[user]
	here := u != nil && u.attendedHere()
	a.users.mu.Unlock()
	if here {
		a.publish(Notice{Kind: NoticeAttended, User: user})
	}
}

// mend turns a user online again, at a page of whom somebody is, in topics in which an older
// node wrote the status Idle.
func (a *attention) mend(user UserID, topics []Topic) {
	if a.directory.on() && !slices.Contains(topics, devicesTopic) {
		topics = append(topics, devicesTopic)
	}
	for _, topic := range topics {
		if topic == devicesTopic {
			for m := range a.devicesOf(user) {
				if w := readWord(m.Status); w.status == Idle && !m.Idle && a.mends(user) {
					w.status = Online
					a.writer.add(devicesTopic, updateOf(m.ID, w.asStatus()))
				}
			}
		} else if m := a.member(topic, user); m.Status.Base() == Idle && !m.Idle && a.mends(user) {
			a.writer.add(topic, updateOf(user, m.Status.turned(Online)))
		}
	}
}

// mends reports whether a user chose to be online, or nothing.
func (a *attention) mends(user UserID) bool {
	chosen := a.chosen(user)
	return chosen == "" || chosen == Online
}

// member returns a user as a topic's roster here has the user; the zero Member if it does not.
func (n *node) member(topic Topic, user UserID) Member {
	if r := n.topics.peek(topic); r != nil {
		if view := r.view.Load(); view != nil {
			if e := view.roster.get(user); e != nil {
				return e.Member
			}
		}
	}
	return Member{}
}
