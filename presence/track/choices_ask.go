package track

import (
	"context"
	"math/rand/v2"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// askEarly asks what a user chose, unless this node knows that or asks already. A connection that opens needs the answer
// only for its join. But its topics may take long to open, and the user may be held by a grace at another node.
//
// Example with a grace of 1 s: Alice closes a page at node A at 12:00:00.0, and opens the next one at node B at
// 12:00:00.1. Her inbox takes 0.5 s to load. The first two answers about her choice are lost, and each costs up to
// 0.4 s. Node B asks at once, so it knows the choice by 12:00:00.9. If it asked at 12:00:00.6, it might know it only
// at 12:00:01.3, and Alice would leave at 12:00:01.0.
func (c *choices) askEarly(user presence.UserID) { c.users.askFirst(user, c.writer.max) }

// ask asks for choices, of up to 500 users at once, until no question is to be asked. A user whose answer fails is asked about
// again later, and delays no other user.
func (c *choices) ask(ctx context.Context) {
	for {
		users, early := c.users.nextAsked(maxAskedAtOnce)
		if early > 0 && wait.For(ctx, early) {
			continue
		}
		if len(users) == 0 {
			return
		}
		all, err := c.load(ctx, users...)
		if err != nil {
			c.askLater(users, err)
			continue
		}
		for i, user := range users {
			c.hearAnswer(user, all[i])
		}
	}
}

// askLater asks about users again after a pause, or once the store is back, and logs why they wait. The pause
// is shorter if the grace is short, since at another node only the grace may hold these users.
func (c *choices) askLater(users []presence.UserID, err error) {
	c.logFailure(err)
	back, retry := c.outage.nextReturn(), statusRetry
	if grace := c.cfg.shortestGrace(); grace > 0 {
		retry = min(retry, max(grace/4, backoffFirst))
	}
	c.life.spawn(func(ctx context.Context) {
		if wait.Until(ctx, back, retry/2+rand.N(retry)) {
			c.users.repeat(users)
		}
	})
}

// awaitKnown is [Tracker.AwaitChoice].
func (c *choices) awaitKnown(ctx context.Context, user presence.User) error {
	c.askEarly(user.ID)
	known := c.users.whenKnown(user.ID)
	wait.Until(ctx, known, -1)
	select {
	case <-known: // even if ctx has ended
		return nil
	default:
		return ctx.Err()
	}
}
