package presence

import (
	"context"
	"time"
)

// attention turns users idle, which others see as away, and back. A page says with each
// beat whether somebody is at it. A user is idle if nobody is at any of the user's pages,
// on any node. So a node that hears of an unattended page asks all nodes, and turns the
// user idle if none of them answers within a second that it has an attended page.
type attention struct{ *node }

// idleVeto is how long other nodes may take to say that a user is attended.
const idleVeto = time.Second

// attend takes a page's report on whether somebody is at it. If the status that a topic
// shows of the user says otherwise, it publishes a notice.
func (a *attention) attend(topic Topic, user UserID, idle bool) {
	switch shown := a.shownOf(topic, user).Base(); {
	case !idle && shown == Idle:
		a.publish(Notice{Kind: NoticeAttended, User: user})
	case idle && shown == Online && !a.users.attended(user):
		a.publish(Notice{Kind: NoticeIdle, User: user})
	}
}

// publish sends a notice in the background. If it is lost, the next beat sends it again.
func (a *attention) publish(n Notice) {
	a.life.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, connectWait)
		defer cancel()
		_ = a.store.Publish(ctx, n)
	})
}

// hearIdle answers the question whether a user is attended. Without an answer from any
// node the user turns idle.
func (a *attention) hearIdle(user UserID) {
	if a.users.attended(user) {
		a.publish(Notice{Kind: NoticeAttended, User: user})
		return
	}
	a.life.spawn(func(ctx context.Context) {
		if wait(ctx, idleVeto) && !a.users.attended(user) {
			a.turn(user, Online, Idle)
		}
	})
}

// hearAttended remembers that somebody is at a page of a user, who is no longer idle.
func (a *attention) hearAttended(user UserID) {
	a.users.setAttended(user)
	a.turn(user, Idle, Online)
}

// turn changes a user's status in the topics in which this node holds the user and that
// show the first status, unless the user chose a status other than online.
func (a *attention) turn(user UserID, from, to Status) {
	topics, chosen := a.users.topicsOf(user), a.chosen(user)
	if len(topics) == 0 || chosen != "" && chosen != Online {
		return
	}
	topics[user.site()] = struct{}{}
	for topic := range topics {
		if topic == devicesTopic {
			a.turnDevices(user, from, to)
		} else if shown := a.shown(topic, user); shown.Base() == from {
			a.writer.add(topic, updateOf(user, shown.turned(to)))
		}
	}
}

// turnDevices changes the status in the words of a user's devices.
func (a *attention) turnDevices(user UserID, from, to Status) {
	for m := range a.devicesOf(user) {
		if w := readWord(m.Status); w.status == from {
			w.status = to
			a.writer.add(devicesTopic, updateOf(m.ID, w.asStatus()))
		}
	}
}

// shownOf returns the status that is shown of a user: where the site has a Directory that of
// the user's devices, which have it also for a user whom not everybody sees.
func (a *attention) shownOf(topic Topic, user UserID) Status {
	if !a.directory.on() {
		return a.shown(topic, user)
	}
	for m := range a.devicesOf(user) {
		return readWord(m.Status).status
	}
	return ""
}

// chosen returns the status that a user chose.
func (a *attention) chosen(user UserID) Status {
	if s, known := a.users.settingsOf(user); known {
		return s.At(time.Now()).Status
	}
	return a.users.chosen(user)
}
