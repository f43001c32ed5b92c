package track

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// askIf starts the goroutine that asks for choices, if start is true.
func (c *choices) askIf(start bool) {
	if start {
		c.life.spawn(c.ask)
	}
}

// askEarly asks what a user chose, unless this node knows that or asks already. A connection that opens needs the answer
// only for its join. But its topics may take long to open, and the user may be held by a grace at another node.
//
// Example with a grace of 1 s: Alice closes a page at node A at 12:00:00.0, and opens the next one at node B at
// 12:00:00.1. Her inbox takes 0.5 s to load. The first two answers about her choice are lost, and each costs up to
// 0.4 s. Node B asks at once, so it knows the choice by 12:00:00.9. If it asked at 12:00:00.6, it might know it only
// at 12:00:01.3, and Alice would leave at 12:00:01.0.
func (c *choices) askEarly(user presence.User) {
	if user.Status == "" || c.directory.on() {
		c.askIf(c.users.askFirst(user.ID, c.writer.max))
	}
}

// ask asks for choices, of up to 500 users at once, until it has asked about every user who waits or has a
// doubt. A user whose answer fails is asked about again later, and delays no other user.
func (c *choices) ask(ctx context.Context) {
	for {
		users, ok := c.next(ctx)
		if !ok {
			return
		}
		if c.directory.on() {
			c.askDirectory(ctx, users)
			continue
		}
		kept, err := c.statuses.ofStore(ctx, users)
		switch {
		case err != nil:
			c.askLater(users, err)
		case c.cfg.Status == nil:
			for i, user := range users {
				c.answered(user, choice{Status: kept[i].Status, order: kept[i].Order})
			}
		default:
			for i, user := range users {
				c.life.spawn(func(ctx context.Context) { c.askSite(ctx, user, kept[i]) })
			}
		}
	}
}

// next returns the next users to ask about, in the order in which they came. It returns
// false if there are none, or if ctx ended.
func (c *choices) next(ctx context.Context) (users []presence.UserID, ok bool) {
	for {
		users, early := c.users.nextAsked(maxAskedAtOnce)
		if early <= 0 {
			return users, len(users) > 0
		}
		if !wait.For(ctx, early) {
			return nil, false
		}
	}
}

// answered stores the answer of the site or the store about a user. It returns a doubt only if the site has a
// Directory.
func (c *choices) answered(user presence.UserID, answer choice) *doubt {
	return c.users.answer(user, answer, func() { c.noteEnd(user, answer) })
}

// askDirectory asks the Directory for the settings of users.
func (c *choices) askDirectory(ctx context.Context, users []presence.UserID) {
	all, err := c.directory.settings(ctx, users...)
	if err != nil {
		c.askLater(users, err)
		return
	}
	for i, user := range users {
		c.hearAnswer(user, all[i])
	}
}

// askSite asks the site's table for one user's choice; kept is the store's answer.
func (c *choices) askSite(ctx context.Context, user presence.UserID, kept backend.ChosenStatus) {
	status, err := c.statuses.ofSite(ctx, user)
	if err != nil {
		c.askLater([]presence.UserID{user}, err)
		return
	}
	c.answered(user, choice{Status: cmp.Or(status, kept.Status), order: kept.Order})
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
		pause := time.NewTimer(retry/2 + rand.N(retry))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-back:
		case <-ctx.Done():
			return
		}
		c.askIf(c.users.askAgain(users))
	})
}

// hearAll returns once this node has heard every lasting notice that was published before, and has applied
// the Directory's answers about the users whose settings changed. It does not wait for a Directory that does
// not answer: by then the notices alone have hidden each user who may have hidden.
//
// Example: node A is cut off from Redis while Alice hides at node B. When Redis is back, A hears of that and
// asks the Directory. A also has page views of hers to write. If it wrote them before the answer, everybody
// would see her once more.
func (c *choices) hearAll(ctx context.Context) error {
	if err := c.notices.hearAll(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*doubtWait) // hearing may have taken all the time of ctx
	defer cancel()
	if c.life.over() {
		c.askLast(ctx)
	}
	for user, d := range c.users.allDoubts() {
		if c.life.over() { // nothing asks any more
			c.narrow(user, d)
		} else {
			c.awaitAnswer(ctx, d)
		}
	}
	return nil
}

// askLast asks the Directory about the users in doubt, for a node that ends: its goroutine that asks has returned.
//
// Example: Alice moves from node A, which stands still, to node B, and is busy there. Node A goes on as it is
// deployed. It makes the lease of her closed page again, to end it, as online. After that it must write that she is
// busy, since node B does not hear that the store says otherwise.
func (c *choices) askLast(ctx context.Context) {
	doubts := c.users.allDoubts()
	if len(doubts) == 0 {
		return
	}
	c.users.askAgain(slices.Collect(maps.Keys(doubts)))
	if users, _ := c.users.nextAsked(len(doubts)); len(users) > 0 {
		if all, err := c.directory.settings(ctx, users...); err == nil {
			for i, user := range users {
				c.hearAnswer(user, all[i])
			}
		}
	}
}

// awaitKnown is [Tracker.AwaitChoice].
func (c *choices) awaitKnown(ctx context.Context, user presence.User) error {
	known := make(chan struct{})
	c.resolve(user, func(resolved) { close(known) })
	select {
	case <-known:
		return nil
	default:
	}
	select {
	case <-known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
