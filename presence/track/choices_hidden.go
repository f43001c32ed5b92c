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

// writeMissing writes again whom pages here hold, and the store does not have: it may have lost its data once more while the nodes
// restored. It asks what others chose, who may have hidden while this node stood still. Each call does so for some of them, since
// 100,000 may be missing until all nodes have restored.
func (c *choices) writeMissing(r *replica) {
	held, unknown := c.users.sort(r.out.topic, r.missingMembers(), maxAskedAtOnce)
	for _, id := range held {
		c.writer.put(r.out.topic, cell{member: id, pages: leaseCell{need: toMake}, visits: leaseCell{need: toMake}})
	}
	for _, id := range unknown {
		c.askEarly(ownerIn(r.out.topic, id))
	}
}

// sort returns, of some members of a topic, up to most whom a page here holds, and as many others whose choice this node does not
// know.
func (p *users) sort(topic presence.Topic, members []presence.UserID, most int) (held, unknown []presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range members {
		if len(p.holdersLocked(topic, id)) > 0 {
			if len(held) < most {
				held = append(held, id)
			}
		} else if _, known := p.records.choice(ownerIn(topic, id)); !known && len(unknown) < most {
			unknown = append(unknown, id)
		}
	}
	return held, unknown
}

// admitHeld lists a withheld user of a topic if a connection of this node holds the user. If the user has signed out, it
// says so again: the store has in old data what held the user before.
//
// Example: Alice views a page at 12:00 and signs out at 12:01. At 12:02 Redis starts again with a file of 12:00:30.
func (c *choices) admitHeld(r *replica) {
	for _, e := range r.withheldMembers() {
		records := c.users.records
		out, off := records.outAt(r.out.topic, e.ID), records.viewsEndedAt(ownerIn(r.out.topic, e.ID))
		switch {
		case c.holdsAs(r.out.topic, e):
			r.admit(e.ID)
		case e.Since.Before(out):
			c.writer.put(r.out.topic, cell{member: e.ID, out: out})
		case e.Since.Before(off):
			c.writer.put(r.out.topic, cell{member: e.ID, off: off})
		}
	}
}

// askUnsure asks the Directory about users whom a topic hides, or shows to fewer, although this node is not sure of their
// choice.
func (c *choices) askUnsure(r *replica) {
	for _, user := range r.unsure() {
		c.askEarly(user)
	}
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
