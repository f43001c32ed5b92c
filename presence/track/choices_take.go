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
	// maxNamedTopics is how many topics a status notice names.
	maxNamedTopics = 16
	// overtakenFor is for how long a write with the status of before may still be on its way
	// when a new status is heard: it waits for one call of the store, and is in the next.
	overtakenFor = 2*applyTimeout + time.Second
	// statusCheck is when a node looks whether the topics here show a status that it heard. A user
	// who hid is looked at again, each time after twice as long, up to statusCheckLast.
	statusCheck     = 2 * time.Second
	statusCheckLast = 32 * time.Second
)

// writtenHere returns the topics that the node writes which publishes a user's choice: some
// that come first, and those in which this node may hold or shows the user.
func (c *choices) writtenHere(user presence.UserID, first ...presence.Topic) []presence.Topic {
	held := c.users.topicsOf(user)
	for _, topic := range c.topics.showing(user) {
		held[topic] = struct{}{}
	}
	for _, topic := range first {
		delete(held, topic)
	}
	topics := append(first, slices.Sorted(maps.Keys(held))...)
	return topics[:min(len(topics), maxNamedTopics)]
}

// adopt remembers a choice that was published, writes what counts now in some topics, and waits until
// some of that is written: as many operations as awaited, of the topics in their order. Those of the
// others are the writer's, which logs their errors.
func (c *choices) adopt(ctx context.Context, user presence.UserID, topics []presence.Topic, awaited int, replace func(was choice, known bool) (choice, bool)) error {
	var written []*ack
	c.choose(user, replace, func(choice, bool) {
		c.users.wroteLocked(user)
		for _, topic := range topics {
			for _, op := range c.updatesLocked(topic, user) {
				written = append(written, c.writer.addAcked(topic, op))
			}
		}
	})
	defer leave(written)
	return c.writer.await(ctx, written[:min(awaited, len(written))]...)
}

// take replaces what a user chose by what replace returns, unless that is no change, and writes
// it where this node holds the user. named are the topics that another node writes; late says
// that it does not. replace is called with users.mu held.
func (c *choices) take(user presence.UserID, late bool, replace func(was choice, known bool) (now choice, named []presence.Topic, changed bool)) (now choice, changed bool) {
	var named []presence.Topic
	now, changed = c.choose(user, func(was choice, known bool) (now choice, changed bool) {
		now, named, changed = replace(was, known)
		return now, changed
	}, nil)
	invisible := now.Base() == presence.Invisible
	if !changed {
		if invisible { // an answer to this node was faster than the notice
			for _, r := range c.topics.all() {
				r.hideMissing(user)
			}
		}
		return now, false
	}
	topics := c.users.topicsOf(user)
	if invisible && !late {
		for _, topic := range c.topics.showing(user) {
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
		conn.conn.wake() // it may wait for its own join
	}
	if !late {
		if len(named) == 0 || c.users.wroteLately(user, overtakenFor) {
			topics[siteOf(user)] = struct{}{} // where a status that was set here was written, too
		}
		for _, topic := range named {
			if !invisible && !c.outage.latestFailed() && !c.mayHaveOvertaken(topic, user) {
				delete(topics, topic)
			}
		}
	}
	for _, topic := range c.writer.holding(user, c.members.of(user)) { // with what was chosen before
		topics[topic] = struct{}{}
	}
	c.write(topics, user, seen)
	c.check(user, now, topics)
	return now, true
}

// showChosen shows what a user chose at a moment on the devices of which the store reports no update:
// it has lost them, or is out.
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

// write writes what others are to see of a user in some topics, as chosen at a moment. It holds
// users.mu, so that what is chosen later is written later.
func (c *choices) write(topics map[presence.Topic]struct{}, user presence.UserID, at time.Time) {
	c.users.choose(user, nil, func(choice, bool) {
		for topic := range topics {
			for _, op := range c.updatesLocked(topic, user) {
				c.writer.put(topic, operation{Op: op, asked: at})
			}
		}
	})
}

// same reports whether two choices say the same.
func (c choice) same(other choice) bool {
	if c.settings == nil || other.settings == nil {
		return c.settings == nil && other.settings == nil && c.Status == other.Status
	}
	return c.settings.Settings == other.settings.Settings
}

// mayHaveOvertaken reports whether this node wrote to a topic of a user so lately that its
// write may have come after the one of the sender of a notice, with the status of before.
func (c *choices) mayHaveOvertaken(topic presence.Topic, user presence.UserID) bool {
	return c.users.wroteLately(user, overtakenFor) || c.users.heldLately(user, topic, overtakenFor)
}

// check writes a status once more where this node holds the user or wrote it, and the topic does
// not show the status after a while. The sender may have ended between publishing and writing it.
// Or the store took an older write, given up in an outage, after the newer one.
// A page view that came since may have named another status, and counts. Before the node shows anybody it hears all
// notices: the topic may not show the status since the user hid elsewhere.
//
// Example: node A ends while Redis does not answer. Then Alice hides at node B. Ten seconds later
// Redis goes on, and takes what A had sent: Alice's page, as online. B hides her again.
func (c *choices) check(user presence.UserID, now choice, written map[presence.Topic]struct{}) {
	written = maps.Clone(written)
	if c.directory.on() {
		written[backend.DevicesTopic] = struct{}{} // what was written there may have come from a page that closed
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
		return now.Base() == presence.Invisible && !r.withholds(user)
	case shown.Base() == presence.Idle:
		return now.Base() == presence.Online && shown.Unseen() == now.Unseen()
	default:
		return shown == now.Status
	}
}

// devicesShow reports whether every device of a user that is known here shows what the user
// chose.
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
