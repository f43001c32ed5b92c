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

// choicesWait is how long a node waits after a loss of data, until the other nodes have published the choices
// that they know.
const choicesWait = 2 * restoreWait

// askFrom drops the store's answers about choices that were asked for before a moment. It is for sites
// without a Directory.
func (c *choices) askFrom(at time.Time) {
	if !c.directory.on() {
		c.users.askFrom(at)
	}
}

// republish tells the store again what this node knows, because the store may have lost it. Then it asks, because this node may have
// missed later choices. Until then the known choices hold, so that no invisible user is shown. The node forgets which users chose
// nothing, and asks about them again when the other nodes have had time to tell what they know.
//
// If the site has a Directory, that has the choices, and no node tells them. The node asks again about the users whom it
// holds, and forgets the settings of all others.
func (c *choices) republish() {
	if c.directory.on() {
		waiting := c.users.waiting() // an answer that is under way may be too old
		held := c.users.forgetChoices(func(user presence.UserID, _ choice) bool {
			return c.users.heldLocked(user)
		})
		c.askAgain(slices.AppendSeq(waiting, maps.Keys(held))...)
		return
	}
	known := c.users.forgetChoices(func(_ presence.UserID, was choice) bool { return was.rev() > 0 })
	from := time.Now().Add(choicesWait)
	c.askFrom(from)
	c.life.spawn(func(ctx context.Context) {
		for user, was := range known {
			c.keepAgain(ctx, user, was)
		}
		if wait.For(ctx, time.Until(from)) {
			c.askAgain(slices.Collect(maps.Keys(known))...)
		}
	})
}

// keepAgain tells the store a choice that it may have lost, until it knows that.
func (c *choices) keepAgain(ctx context.Context, user presence.UserID, was choice) {
	chosen := backend.ChosenStatus{Status: was.settings.Status, Rev: was.rev()}
	for {
		if _, err := c.store.PutStatus(ctx, user, chosen, true); err == nil || !wait.For(ctx, backoffLast) {
			return
		}
	}
}
