package track

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// hidesSoon is how often a node asks the Directory who has hidden, while the store is out. It asks less often
// if the Directory is slow.
const hidesSoon = time.Second

// askWhoHid runs while the store is out, when no notice can tell that a user has hidden at another node. It
// asks the Directory for the settings of all users who are shown here, and takes those that are later.
//
// Cost: one query for 500 users who are online, and a pause of four times as long as the queries took.
func (c *choices) askWhoHid(ctx context.Context) {
	for pause := hidesSoon; wait.For(ctx, pause); {
		began := time.Now()
		if c.outage.latestFailed() {
			c.askShown(ctx)
		}
		pause = max(hidesSoon, 4*time.Since(began))
	}
}

// askShown takes the settings of all users who are shown here, as far as the Directory answers.
func (c *choices) askShown(ctx context.Context) {
	devices := c.topics.viewHere(backend.DevicesTopic)
	if devices == nil {
		return
	}
	for users := range slices.Chunk(devices.shownUsers(), maxSettingsAtOnce) {
		all, err := c.directory.settings(ctx, users...)
		if err != nil {
			return
		}
		for i, s := range all {
			c.takeSettings(users[i], noteSettings{Settings: s}, time.Now(), false)
		}
	}
}

// shownUsers returns the users of a view of devices that are visible to somebody.
func (v *View) shownUsers() (users []presence.UserID) {
	v.roster.byID.Scan(func(e *entry) bool {
		user, _ := backend.OwnerOf(e.ID)
		if len(users) > 0 && users[len(users)-1] == user {
			return true
		}
		if shown, _ := v.sightOf(user); !shown.visibility.Hidden() {
			users = append(users, user)
		}
		return true
	})
	return users
}

// tend looks after members of a topic whom readers see otherwise than the store has them: some at a time, because after a loss all
// of a topic may be such until the nodes have restored.
func (c *choices) tend(r *replica) {
	for id, a := range r.someApart(maxAskedAtOnce) {
		c.tendMember(r, id, a)
	}
}

// tendMember lists a member whom readers do not see if a connection of this node holds the user. If the user has signed out, it
// says so again: the store has in old data what held the user before. Whom pages here hold, and the store does not have, it writes
// again: the store may have lost its data once more while the nodes restored. It asks what the others chose, who may have hidden, or
// shown themselves, while this node stood still.
//
// Example: Alice views a page at 12:00 and signs out at 12:01. At 12:02 Redis starts again with a file of 12:00:30.
func (c *choices) tendMember(r *replica, id presence.UserID, a apart) {
	topic, owner, records := r.out.topic, ownerIn(r.out.topic, id), c.users.records
	switch {
	case a.stored == nil && !c.users.holdsMember(topic, id):
	case a.stored == nil:
		c.writer.put(topic, cell{member: id, pages: leaseCell{need: toMake}, visits: leaseCell{need: toMake}})
	case c.holdsAs(topic, a.stored):
		r.admit(id)
	case a.stored.Since.Before(records.outAt(topic, id)):
		c.writer.put(topic, cell{member: id, out: records.outAt(topic, id)})
	case a.stored.Since.Before(records.viewsEndedAt(owner)):
		c.writer.put(topic, cell{member: id, off: records.viewsEndedAt(owner)})
	}
	c.askEarly(owner)
}

// holdsAs reports whether a connection of this node holds a member of a topic, and lets others see no less than an
// entry of the store, which may be older than what the user chose.
func (c *choices) holdsAs(topic presence.Topic, e *entry) (holds bool) {
	c.users.withChoice(ownerIn(topic, e.ID), func(chosen choice, known bool) {
		if !known {
			return
		}
		for _, h := range c.users.holdersLocked(topic, e.ID) {
			now := c.as(h.visitor.User, chosen).in(topic, h.visitor.Device)
			hides := now.Visibility != nil && now.Visibility.Narrows(e.visibility())
			holds = holds || now.Status.Base() != presence.Invisible && !hides
		}
	})
	return holds
}
