package track

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

const (
	// overtakenFor is how long a write with the previous status may be under way when a node hears of a new
	// status. The write waits for one call of the store, and goes out with the next.
	overtakenFor = 2*applyTimeout + time.Second
	// statusCheck is when a node checks whether the topics here show a status that it heard. For a user who
	// hid, it checks again and again, each time after twice as long, up to statusCheckLast.
	statusCheck     = 2 * time.Second
	statusCheckLast = 32 * time.Second
)

// siteOf returns the topic of the whole site whose user it is.
func siteOf(id presence.UserID) presence.Topic { return presence.Site.In(id.Tenant()) }

// choose is [users.choose] where settings may have an end.
func (c *choices) choose(user presence.UserID, replace func(was choice, known bool) (choice, bool), then func(now choice, known bool)) (now choice, changed bool) {
	return c.users.choose(user, func(was choice, known bool) (choice, bool) {
		now, changed := replace(was, known)
		if changed {
			c.noteEnd(user, now)
		}
		return now, changed
	}, then)
}

// noteEnd notes when the status that a user chose will end. It may be called with users.mu held.
func (c *choices) noteEnd(user presence.UserID, now choice) {
	if s := now.settings; s != nil {
		c.untils.set(user, s.end())
	}
}

// adopt remembers a choice that was published, and writes the current one in some topics. It waits until the
// first operations are written, as many as awaited says. The others are left to the writer, which logs their
// errors.
func (c *choices) adopt(ctx context.Context, user presence.UserID, topics []presence.Topic, awaited int, replace func(was choice, known bool) (choice, bool)) error {
	var written []*ack
	c.choose(user, replace, func(choice, bool) {
		c.users.wroteLocked(user)
		for _, topic := range topics {
			for _, op := range c.updatesLocked(topic, user) {
				written = append(written, c.writer.putAcked(topic, operation{Op: op}))
			}
		}
	})
	defer leave(written)
	return c.writer.await(ctx, written[:min(awaited, len(written))]...)
}

// take replaces a user's choice by the result of replace, unless that is no change. It writes the new choice
// if this node holds the user. named are the topics that another node writes; late means that the other node
// may not. replace is called with users.mu held.
func (c *choices) take(user presence.UserID, late bool, replace func(was choice, known bool) (now choice, named []presence.Topic, changed bool)) (now choice, changed bool) {
	var named []presence.Topic
	now, changed = c.choose(user, func(was choice, known bool) (now choice, changed bool) {
		now, named, changed = replace(was, known)
		return now, changed
	}, nil)
	invisible := now.Base() == presence.Invisible
	if !changed {
		if invisible { // the answer came before the notice
			for _, r := range c.topics.all() {
				r.hideMissing(user)
			}
		}
		return now, false
	}
	topics := c.users.topicsOf(user)
	if invisible && !late {
		for _, topic := range c.where.showing(user) {
			if !slices.Contains(named, topic) {
				topics[topic] = struct{}{}
			}
		}
	}
	left := backend.Departure{ID: user, LastSeen: time.Now()}
	if now.settings != nil {
		left.LastSeen = now.at
	}
	seen := left.LastSeen
	c.showChosen(user, seen)
	if now.Unseen() {
		left.LastSeen = time.Time{}
	}
	for _, r := range c.topics.all() {
		if invisible {
			r.expectHidden(left)
		} else {
			r.cancelHidden(user)
		}
	}
	for _, conn := range c.users.connectionsOf(user) {
		conn.conn.wake() // it may be waiting for its own join
	}
	if !late {
		if len(named) == 0 || c.users.wroteLately(user, overtakenFor) {
			topics[siteOf(user)] = struct{}{} // where a status that was set here may have been written
		}
		for _, topic := range named {
			if !invisible && !c.outage.latestFailed() && !c.mayHaveOvertaken(topic, user) {
				delete(topics, topic)
			}
		}
	}
	for _, topic := range c.where.writing(user) { // with the previous choice
		topics[topic] = struct{}{}
	}
	c.write(topics, user, seen)
	c.check(user, now, topics)
	return now, true
}

// showChosen shows a user's new choice on the devices for which no update has come from the store, because
// the store has lost them or is out. at is when the user chose.
func (c *choices) showChosen(user presence.UserID, at time.Time) {
	r := c.topics.peek(backend.DevicesTopic)
	if r == nil {
		return
	}
	c.users.choose(user, nil, func(choice, bool) {
		for _, op := range c.updatesLocked(backend.DevicesTopic, user) {
			r.choose(backend.Departure{ID: op.User.ID, LastSeen: at}, op.User.Visibility)
		}
	})
}

// write writes what others may see of a user in some topics, as chosen at a moment. It holds users.mu, so
// that a later choice is also written later. If there is a doubt about the user, this may be the earlier choice.
//
// Example: Alice hides, and later turns busy at node A. Node B hears that, and its Directory does not answer. B
// finds that she is shown, and hides her again. Once the Directory answers, B shows her as busy.
func (c *choices) write(topics map[presence.Topic]struct{}, user presence.UserID, at time.Time) {
	c.users.choose(user, nil, func(choice, bool) {
		doubt := c.users.doubtLocked(user)
		for topic := range topics {
			if doubt != nil {
				doubt.writing[topic] = struct{}{}
			}
			for _, op := range c.updatesLocked(topic, user) {
				c.writer.put(topic, operation{Op: op, asked: at})
			}
		}
	})
}

// updatesLocked returns the operations that update what a topic shows of a user.
func (c *choices) updatesLocked(topic presence.Topic, user presence.UserID) []backend.Op {
	now, known := c.users.choiceLocked(user)
	if !known {
		return nil
	}
	if topic != backend.DevicesTopic || now.settings == nil {
		return []backend.Op{updateOf(presence.User{ID: user, Status: now.Status})}
	}
	shown := now.settings.At(time.Now()).Visibility(c.devices.shownSince(user, now.settings.since))
	var ops []backend.Op
	for _, member := range c.where.devicesLocked(user) {
		ops = append(ops, updateOf(presence.User{ID: member, Visibility: &shown}))
	}
	return ops
}

// mayHaveOvertaken reports whether this node wrote to a topic of a user so recently that its write, with the
// previous status, may arrive after the write of a notice's sender.
func (c *choices) mayHaveOvertaken(topic presence.Topic, user presence.UserID) bool {
	return c.users.wroteLately(user, overtakenFor) || c.users.heldLately(user, topic, overtakenFor)
}

// check writes a status again in topics that do not show it after a while, if this node holds the user or
// wrote the status. There are two causes. The sender may have ended between publishing and writing it. Or the
// store executed an older write, which its node had given up in an outage, after the newer one. A later page
// view may have set another status, which then counts. Before the node shows a user again it hears all
// notices, since the user may have hidden elsewhere.
//
// Example: node A ends while Redis does not answer. Then Alice hides at node B. Ten seconds later Redis
// resumes, and executes a write of A: Alice's page, as online. B hides her again.
func (c *choices) check(user presence.UserID, now choice, written map[presence.Topic]struct{}) {
	written = maps.Clone(written)
	if c.directory.on() {
		written[backend.DevicesTopic] = struct{}{} // an entry there may come from a page that has closed
	}
	if len(written) == 0 && len(c.users.topicsOf(user)) == 0 {
		return
	}
	c.life.spawn(func(ctx context.Context) {
		for pause := statusCheck; pause <= statusCheckLast && wait.For(ctx, pause) && c.users.chose(user, now); pause *= 2 {
			topics := c.users.topicsOf(user)
			maps.Copy(topics, written)
			maps.DeleteFunc(topics, func(topic presence.Topic, _ struct{}) bool {
				return c.users.heldLately(user, topic, pause) || c.shows(topic, user, now)
			})
			if now.Base() == presence.Invisible {
				c.write(topics, user, time.Now())
				continue
			}
			for len(topics) > 0 && c.hearAll(ctx) != nil {
				if !wait.For(ctx, backoffFirst) {
					return
				}
			}
			if c.users.chose(user, now) {
				c.write(topics, user, time.Now())
			}
			return
		}
	})
}

// shows reports whether a topic that is loaded here shows a status of a user.
func (c *choices) shows(topic presence.Topic, user presence.UserID, now choice) bool {
	r := c.topics.peek(topic)
	if r == nil || r.view.Load() == nil {
		return false
	}
	if topic == backend.DevicesTopic {
		return c.devicesShow(user, now)
	}
	switch shown := c.topics.shown(topic, user); {
	case shown == "":
		return now.Base() == presence.Invisible && !slices.ContainsFunc(r.withheld(), func(e *entry) bool { return e.ID == user })
	case shown.Base() == presence.Idle:
		return now.Base() == presence.Online && shown.Unseen() == now.Unseen()
	default:
		return shown == now.Status
	}
}

// devicesShow reports whether every known device of a user shows the user's choice.
func (c *choices) devicesShow(user presence.UserID, now choice) bool {
	if now.settings == nil {
		return true
	}
	want := now.settings.At(time.Now()).Visibility(time.Time{})
	for m := range c.devices.of(user) {
		shown := m.visibility()
		if shown.Since = (time.Time{}); shown.Status == presence.Idle {
			shown.Status = presence.Online
		}
		if shown != want {
			return false
		}
	}
	return true
}
