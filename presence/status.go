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
	// overtakenFor is for how long a write with the status of before may still be on its way
	// when a new status is heard: it waits for one call of the store, and is in the next.
	overtakenFor = 2*applyTimeout + time.Second
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
	held := c.users.topicsOf(user)
	delete(held, Site)
	topics := append([]Topic{Site}, slices.Sorted(maps.Keys(held))...)
	topics = topics[:min(len(topics), maxNamedTopics)]
	if err := c.notices.publish(ctx, StatusNotice(user, status, topics...)); err != nil {
		return err
	}
	c.users.mu.Lock()
	c.learnLocked(user, choice{status, time.Now()})
	c.users.knownLocked(user).wrote = time.Now()
	c.users.mu.Unlock()
	written := c.writer.addAcked(Site, updateOf(user, status))
	for _, topic := range topics[1:] {
		c.writer.add(topic, updateOf(user, status))
	}
	return c.await(ctx, written) // a topic that the store refuses is that topic's affair
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
func (c *choices) hear(n Notice) {
	status, named := n.Status()
	at := time.Now().Add(-n.Ago)
	c.users.mu.Lock()
	was, _ := c.users.choiceLocked(n.User)
	if n.Ago > 0 && (was.at.After(at) || was.Status == status) {
		c.users.mu.Unlock() // a newer one was set since, or it was heard before
		return
	}
	c.learnLocked(n.User, choice{status, at})
	c.users.mu.Unlock()
	c.notices.replaced(n)
	for _, r := range c.topics.all() {
		if status == Invisible {
			r.expectLeave(n.User)
		} else {
			r.cancelLeave(n.User)
		}
	}
	for _, conn := range c.users.connectionsOf(n.User) {
		conn.wake() // it may wait for its own join
	}
	topics := c.users.topicsOf(n.User)
	if n.Ago == 0 { // else the sender does not write
		if len(named) == 0 || c.users.wroteLately(n.User, overtakenFor) {
			topics[Site] = struct{}{} // where a status that was set here was written, too
		}
		for _, topic := range named {
			if status != Invisible && !c.outage.latestFailed() && !c.mayHaveOvertaken(topic, n.User) {
				delete(topics, topic)
			}
		}
	}
	for topic := range topics {
		c.writer.add(topic, updateOf(n.User, status))
	}
	c.check(n.User, status)
}

// mayHaveOvertaken reports whether this node wrote to a topic of a user so lately that its
// write may have come after the one of the sender of a notice, with the status of before.
func (c *choices) mayHaveOvertaken(topic Topic, user UserID) bool {
	return c.users.wroteLately(user, overtakenFor) || c.users.heldLately(user, topic, overtakenFor)
}

// check writes a status once more where this node holds the user and the topic does not
// show the status after a while, because the sender ended between publishing and writing
// it. A page view that came since may have named another status, and counts.
func (c *choices) check(user UserID, status Status) {
	if len(c.users.topicsOf(user)) == 0 {
		return
	}
	c.life.spawn(func(ctx context.Context) {
		if !wait(ctx, statusCheck) || c.users.chosen(user) != status {
			return
		}
		for topic := range c.users.topicsOf(user) {
			if !c.users.heldLately(user, topic, statusCheck) && !c.shows(topic, user, status) {
				c.writer.add(topic, updateOf(user, status))
			}
		}
	})
}

// shows reports whether a topic that is loaded here shows a status of a user.
func (c *choices) shows(topic Topic, user UserID, status Status) bool {
	r := c.topics.peek(topic)
	if r == nil || r.view.Load() == nil {
		return false
	}
	switch shown := c.shown(topic, user); shown {
	case Idle:
		return status == Online
	case "":
		return status == Invisible
	default:
		return shown == status
	}
}

// unknownAge is the age of a choice of which this node knows only that it was made: so
// long ago that any other choice is later.
const unknownAge = 24 * time.Hour

// choicesWait is how long after a loss of data a node waits for the choices that the other
// nodes publish again.
const choicesWait = 2 * restoreWait

// republish publishes the choices that this node knows once more, because the store may
// have lost them, and then asks the store, because this node may have missed later ones.
// Until then the known choices hold, so that no invisible user is shown. The node forgets
// which users chose nothing, and asks about them again when the other nodes have had time
// to publish their choices.
func (c *choices) republish() {
	known := c.users.forgetUnchosen()
	c.users.mu.Lock()
	c.askAfter = time.Now().Add(choicesWait)
	c.users.mu.Unlock()
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
