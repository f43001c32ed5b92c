package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
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
		for _, topic := range topics {
			for _, op := range c.updatesLocked(topic, user) {
				written = append(written, c.writer.putAcked(topic, operation{Op: op}))
			}
		}
	})
	defer leave(written)
	return c.writer.await(ctx, written[:min(awaited, len(written))]...)
}

// take replaces a user's choice by the result of replace, unless that is no change, and writes the new choice where this node
// holds the user, and where it writes the earlier one. If the user hides, it writes that in all topics that it shows the user
// in, since the node of the sender may have ended before it wrote. replace is called with users.mu held.
func (c *choices) take(user presence.UserID, replace func(was choice, known bool) (now choice, changed bool)) (now choice, changed bool) {
	now, changed = c.choose(user, replace, nil)
	if changed || now.hides() { // the answer may have come before the notice
		c.show(user)
	}
	if !changed {
		return now, false
	}
	topics := c.users.topicsOf(user)
	for _, topic := range c.where.writing(user) { // with the previous choice
		topics[topic] = struct{}{}
	}
	if now.hides() {
		for _, topic := range c.where.showing(user) {
			topics[topic] = struct{}{}
		}
	}
	for _, conn := range c.users.connectionsOf(user) {
		conn.conn.wake() // it may be waiting for its own join
	}
	at := time.Now()
	if now.settings != nil {
		at = now.at
	}
	c.write(topics, user, at)
	return now, true
}

// show makes each topic here show what this node has learned of a user.
func (c *choices) show(user presence.UserID) {
	for _, r := range c.topics.all() {
		r.learned(user)
	}
}

// write writes what others may see of a user in some topics, as chosen at a moment. It holds users.mu, so
// that a later choice is also written later.
func (c *choices) write(topics map[presence.Topic]struct{}, user presence.UserID, at time.Time) {
	c.users.choose(user, nil, func(choice, bool) {
		for topic := range topics {
			for _, op := range c.updatesLocked(topic, user) {
				c.writer.put(topic, operation{Op: op, at: at})
			}
		}
	})
}

// updatesLocked returns the operations that update what a topic shows of a user.
func (c *choices) updatesLocked(topic presence.Topic, user presence.UserID) []backend.Op {
	now, known := c.users.records.choice(user)
	if !known {
		return nil
	}
	if topic != backend.DevicesTopic || now.settings == nil {
		return []backend.Op{updateOf(presence.User{ID: user, Status: now.Status, Rev: now.rev()})}
	}
	shown := now.settings.At(time.Now()).Visibility(c.devices.shownSince(user, now.settings.since))
	var ops []backend.Op
	for _, member := range c.where.devicesLocked(user) {
		ops = append(ops, updateOf(presence.User{ID: member, Visibility: &shown, Rev: now.rev()}))
	}
	return ops
}
