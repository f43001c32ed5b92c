package track

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
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

// set publishes a user's choice, and then writes it: this node alone, in all topics in
// which it may hold or shows the user, and in that of the site.
func (c *choices) set(ctx context.Context, user presence.UserID, status presence.Status) error {
	if _, err := presence.ParseStatus(string(status)); err != nil {
		return err
	}
	if err := c.keepsStatus(); err != nil {
		return err
	}
	if c.outage.latestFailed() {
		return presence.ErrStoreOut
	}
	user, status = presence.UserID(strings.Clone(string(user))), presence.Status(strings.Clone(string(status)))
	topics := c.writtenHere(user, siteOf(user))
	n, err := c.publish(ctx, backend.StatusNotice(user, status, topics...))
	if err != nil {
		return err
	}
	c.awaitHeard(ctx)
	acks := c.adopt(user, topics, func(was choice, known bool) (choice, bool) {
		if known && was.order > n.Order {
			return was, false // heard, or a later one was
		}
		return choice{Status: status, at: time.Now(), order: n.Order + 1}, true // its own order is heard later
	})
	defer leave(acks)
	return c.writer.await(ctx, acks[0]) // the writer logs the errors of the other topics
}

// publish publishes a choice in place of the latest one, also if this node does not know that
// yet. A choice whose caller gave up replaces none that was made since (rule 13).
func (c *choices) publish(ctx context.Context, n backend.Notice) (backend.Notice, error) {
	n.Order = c.users.choiceOf(n.User).order
	for {
		err := c.notices.publish(ctx, n)
		if !errors.Is(err, presence.ErrLaterChoice) || backend.Require(c.store, backend.FeatureStatuses) != nil {
			return n, err
		}
		kept, err := c.statuses.ofStore(ctx, []presence.UserID{n.User})
		if err != nil {
			return n, storeOut(err)
		}
		n.Order = max(n.Order, kept[0].Order)
	}
}

// awaitHeard waits until this node has heard the choice that it published, in its place among
// those of other nodes.
func (c *choices) awaitHeard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	_ = c.notices.hearAll(ctx)
}

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

// adopt remembers a choice that was published, and writes what counts now in some topics.
func (c *choices) adopt(user presence.UserID, topics []presence.Topic, replace func(was choice, known bool) (choice, bool)) (written []*ack) {
	c.choose(user, replace, func(choice, bool) {
		c.users.wroteLocked(user)
		for _, topic := range topics {
			for _, op := range c.updatesLocked(topic, user) {
				written = append(written, c.writer.addAcked(topic, op))
			}
		}
	})
	return written
}

// hear remembers the status that a user chose. The sender of the notice writes it in the
// topics that the notice names. This node writes it in the other topics in which it holds
// the user; and in those too where its own write of an earlier status comes last, or may have.
//
// Example: Alice has a tab of "site" at node A and one of "site" and "thread:1" at node
// B. She turns busy at A. A writes "busy" to "site", and B to "thread:1".
//
// Invisible is written by every node that holds the user, at once: if the sender ended
// before it wrote, others would see the user for as long as a lease lasts.
func (c *choices) hear(n backend.Notice) {
	status, named := n.Status()
	if c.directory.on() { // from a node that has no Directory
		c.askAgain(n.User)
		return
	}
	heard := choice{Status: status, at: time.Now().Add(-n.Ago), order: n.Order}
	if heard.order == 0 { // of a Bus that knows no order
		heard.order = backend.OrderAt(heard.at)
	}
	c.take(n.User, n.Ago > 0, func(was choice, _ bool) (choice, []presence.Topic, bool) {
		return heard, named, heard.order > was.order
	})
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
// A page view that came since may have named another status, and counts.
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
			c.write(topics, user, time.Now())
			if now.Base() != presence.Invisible {
				return
			}
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

// unknownAge is the age of a choice of which this node knows only that it was made: so
// long ago that any other choice is later.
const unknownAge = 24 * time.Hour

// choicesWait is how long after a loss of data a node waits for the choices that the other
// nodes publish again.
const choicesWait = 2 * restoreWait

// askFrom has nobody asked what users chose before a moment, where there is no Directory.
func (c *choices) askFrom(at time.Time) {
	if !c.directory.on() {
		c.users.askFrom(at)
	}
}

// republish publishes the choices that this node knows once more, because the store may
// have lost them, and then asks the store, because this node may have missed later ones.
// Until then the known choices hold, so that no invisible user is shown. The node forgets
// which users chose nothing, and asks about them again when the other nodes have had time
// to publish their choices.
//
// Where the site has a Directory, that has the choices, and no node publishes them. The node
// asks again about the users whom it holds, and forgets the settings of all others.
func (c *choices) republish() {
	if c.directory.on() {
		waiting, _ := c.users.waiting() // an answer on its way may be too old
		c.askAgain(append(c.users.forgetSettings(c.writer.writes), waiting...)...)
		return
	}
	known := c.users.forgetUnchosen()
	c.askFrom(time.Now().Add(choicesWait))
	c.life.spawn(func(ctx context.Context) {
		for user, was := range known {
			n := backend.StatusNotice(user, was.Status)
			n.Order, n.Ago = was.order, unknownAge
			if !was.at.IsZero() {
				n.Ago = max(time.Since(was.at), time.Millisecond)
			}
			for c.store.Publish(ctx, n) != nil {
				if !wait.For(ctx, backoffLast) {
					return
				}
			}
		}
		for users := range slices.Chunk(slices.Collect(maps.Keys(known)), maxAskedAtOnce) {
			kept, err := c.store.Statuses(ctx, users...)
			for i := range kept {
				if err == nil && kept[i].Status != "" {
					n := backend.StatusNotice(users[i], kept[i].Status)
					n.Order = kept[i].Order
					c.hear(n)
				}
			}
		}
	})
}

// siteOf returns the topic of the whole site whose user it is.
func siteOf(id presence.UserID) presence.Topic { return presence.Site.In(id.Tenant()) }

// setStatus is [Tracker.SetStatus].
func (c *choices) setStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	if c.directory.on() {
		return c.changeSettings(ctx, user, func(s *presence.Settings) error {
			s.Status, s.Until, s.Text = status, time.Time{}, ""
			_, err := presence.ParseStatus(string(status))
			return err
		})
	}
	return c.set(ctx, user, status)
}
