package track

import (
	"iter"
	"maps"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// siteOf returns the topic of the whole site whose user it is.
func siteOf(id presence.UserID) presence.Topic { return presence.Site.In(id.Tenant()) }

// take replaces a user's choice by the result of replace, unless that is no change, and writes the new choice where this node
// holds the user. If the user hides, it writes that in all topics that it shows the user
// in, since the node of the sender may have ended before it wrote. replace is called with users.mu held.
func (c *choices) take(user presence.UserID, replace func(was choice, known bool) (now choice, changed bool)) (now choice, changed bool) {
	now, changed = c.users.learn(user, replace)
	if changed || now.hides() { // the answer may have come before the notice
		c.show(user)
	}
	if !changed {
		return now, false
	}
	topics := c.users.topicsOf(user)
	if now.hides() {
		for _, topic := range c.where.showing(user) {
			topics[topic] = struct{}{}
		}
	}
	for _, conn := range c.users.connectionsOf(user) {
		conn.conn.wake() // it may be waiting for its own join
	}
	leave(c.write(maps.Keys(topics), user))
	return now, true
}

// show makes each topic here show what this node has learned of a user.
func (c *choices) show(user presence.UserID) {
	for _, r := range c.topics.all() {
		r.learned(user)
	}
}

// write writes what others may see of a user in some topics. [leave] the acks.
func (c *choices) write(topics iter.Seq[presence.Topic], user presence.UserID) (written []*ack) {
	devices := c.where.devicesOf(user)
	for topic := range topics {
		for _, member := range membersIn(topic, user, devices) {
			written = append(written, c.writer.putAcked(topic, cell{member: member, choice: true}, wordChoice))
		}
	}
	return written
}

// visibility returns who may see a user's devices by settings of the user.
func (c *choices) visibility(user presence.UserID, s chosenSettings) presence.Visibility {
	return s.At(time.Now()).Visibility(c.devices.shownSince(user, s.since))
}
