package presence

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// maxNamedTopics is how many topics a status notice names.
	maxNamedTopics = 16
	// overtakenFor is for how long a page view or a join with the status of before may
	// still be on its way to the store when a new status is heard.
	overtakenFor = 5 * time.Second
	// statusCheck is when a node looks whether the topics here show a status that it heard.
	statusCheck = 2 * time.Second
)

// set publishes a user's choice, and then writes it: this node alone, in all topics in
// which it may hold the user, and in that of the site.
func (c *choices) set(ctx context.Context, user UserID, status Status) error {
	if _, err := ParseStatus(string(status)); err != nil {
		return err
	}
	if c.outage.latestFailed() {
		return ErrStoreOut
	}
	user, status = UserID(strings.Clone(string(user))), Status(strings.Clone(string(status)))
	held := c.people.topicsOf(user)
	delete(held, Site)
	topics := append([]Topic{Site}, slices.Sorted(maps.Keys(held))...)
	topics = topics[:min(len(topics), maxNamedTopics)]
	if err := c.notices.publish(ctx, StatusNotice(user, status, topics...)); err != nil {
		return err
	}
	c.people.mu.Lock()
	c.learnLocked(user, choice{status, time.Now()})
	c.people.mu.Unlock()
	acks := make([]*ack, len(topics))
	for i, topic := range topics {
		acks[i] = c.writer.addAcked(topic, updateOf(user, status))
	}
	return c.await(ctx, acks...)
}

// hear remembers the status that a user chose. The sender of the notice writes it in the
// topics that the notice names. This node writes it where the sender may not hold the
// user, and where this node may have written the status of before meanwhile.
//
// Example: Alice has a tab of "site" at node A and one of "site" and "thread:1" at node
// B. She turns busy at A. A writes "busy" to "site", and B to "thread:1".
func (c *choices) hear(n Notice) {
	status, named := n.Status()
	at := time.Now().Add(-n.Ago)
	c.people.mu.Lock()
	was := choice{}
	if u := c.people.byID[n.User]; u != nil && u.choice != nil {
		was = *u.choice
	}
	if n.Ago > 0 && (was.at.After(at) || was.Status == status) {
		c.people.mu.Unlock() // a newer one was set since, or it was heard before
		return
	}
	c.learnLocked(n.User, choice{status, at})
	c.people.mu.Unlock()
	c.notices.replaced(n)
	for _, r := range c.topics.all() {
		if status == Invisible {
			r.expectLeave(n.User)
		} else {
			r.cancelLeave(n.User)
		}
	}
	for _, conn := range c.people.connectionsOf(n.User) {
		conn.wake() // it may wait for its own join
	}
	topics := c.people.topicsOf(n.User)
	if n.Ago == 0 { // else the sender does not write
		if len(named) == 0 {
			topics[Site] = struct{}{}
		}
		for _, topic := range named {
			if !c.people.heldLately(n.User, topic, overtakenFor) && !c.outage.latestFailed() {
				delete(topics, topic)
			}
		}
	}
	for topic := range topics {
		c.writer.add(topic, updateOf(n.User, status))
	}
	c.check(n.User, status)
}

// check writes a status once more where topics here do not show it after a while, because
// a node ended between publishing a status and writing it.
func (c *choices) check(user UserID, status Status) {
	if len(c.people.topicsOf(user)) == 0 {
		return
	}
	c.life.spawn(func(ctx context.Context) {
		if !wait(ctx, statusCheck) || c.people.chosen(user) != status {
			return
		}
		for topic := range c.people.topicsOf(user) {
			shown := c.shown(topic, user)
			if shown != status && !(shown == "" && status == Invisible) && !(shown == Idle && status == Online) {
				c.writer.add(topic, updateOf(user, status))
			}
		}
	})
}

// unknownAge is the age of a choice of which this node knows only that it was made: so
// long ago that any other choice is later.
const unknownAge = 24 * time.Hour

// republish publishes the choices that this node knows once more, because the store may
// have lost them, and then asks the store, because this node may have missed later ones.
// Until then the known choices hold, so that no invisible user is shown. The node forgets
// which users chose nothing, and asks about them again when the other nodes have had time
// to publish their choices.
func (c *choices) republish() {
	known := make(map[UserID]choice)
	c.people.mu.Lock()
	for id, u := range c.people.byID {
		switch {
		case u.choice == nil:
		case u.choice.Status == "":
			u.choice = nil
		default:
			known[id] = *u.choice
		}
	}
	c.askAfter = time.Now().Add(2 * restoreWait)
	c.people.mu.Unlock()
	c.life.spawn(func(ctx context.Context) {
		for user, was := range known {
			n := StatusNotice(user, was.Status)
			n.Ago = unknownAge
			if !was.at.IsZero() {
				n.Ago = time.Since(was.at)
			}
			for c.store.Publish(ctx, n) != nil {
				if !wait(ctx, backoffLast) {
					return
				}
			}
		}
		for users := range slices.Chunk(slices.Collect(maps.Keys(known)), maxAskedAtOnce) {
			kept, err := c.store.Statuses(ctx, users...)
			for i := range kept {
				if err == nil && kept[i] != "" && kept[i] != known[users[i]].Status {
					c.hear(StatusNotice(users[i], kept[i]))
				}
			}
		}
	})
}
