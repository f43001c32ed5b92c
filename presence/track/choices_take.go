package track

import (
	"iter"
	"maps"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// siteOf returns the topic of the whole site whose user it is.
func siteOf(id presence.UserID) presence.Topic { return presence.Site.In(id.Tenant()) }

// take replaces a user's choice by the result of replace, and writes the new choice where this node holds the user. If the user
// hides, it writes that in all topics that it shows the user in, since the node of the sender may have ended before it wrote. The
// parameters are those of users.learn.
func (c *choices) take(user presence.UserID, answer bool, replace func(was choice, asked bool) choice) (was, now choice) {
	was, now = c.users.learn(user, answer, replace)
	changed := now.settings != was.settings || now.Status != was.Status
	switch first := answer && was.unsure && was.rev() == 0; {
	case now.hides(): // the answer may have come before the notice
		c.show(user, c.topics.all()...)
	case now.unsure, first: // what waits is written with it
		if r := c.topics.peek(backend.DevicesTopic); r != nil { // which may have the choice of before a loss
			c.show(user, r)
		}
		return was, now
	case changed, was.unsure:
		c.show(user, c.topics.all()...)
	}
	if !changed {
		return was, now
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
	return was, now
}

// show makes topics here show what this node has learned of a user.
func (c *choices) show(user presence.UserID, in ...*replica) {
	for _, r := range in {
		r.learned(user)
	}
}

// write writes what others may see of a user in some topics. [leave] the acks.
func (c *choices) write(topics iter.Seq[presence.Topic], user presence.UserID) (written []*ack) {
	var devices []presence.UserID
	for topic := range topics {
		if topic == backend.DevicesTopic {
			devices = c.where.devicesOf(user)
		}
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
