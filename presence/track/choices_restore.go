package track

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// unknownAge is the age of a choice whose time is unknown: so great that any other choice is later.
const unknownAge = 24 * time.Hour

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

// republish publishes the choices that this node knows again, because the store may have lost them. Then it
// asks the store, because this node may have missed later ones. Until then the known choices hold, so that no
// invisible user is shown. The node forgets which users chose nothing, and asks about them again when the
// other nodes have had time to publish their choices.
//
// If the site has a Directory, that has the choices, and no node publishes them. The node asks again about
// the users whom it holds, and forgets the settings of all others.
func (c *choices) republish() {
	if c.directory.on() {
		waiting, _ := c.users.waiting() // an answer that is under way may be too old
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
