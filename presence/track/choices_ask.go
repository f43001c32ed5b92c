package track

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// enqueueLocked has a user asked about.
func (c *choices) enqueueLocked(user presence.UserID) {
	if _, listed := c.listed[user]; !listed {
		c.listed[user] = struct{}{}
		c.order = append(c.order, user)
	}
	c.askLocked()
}

// askLocked starts the goroutine that asks, unless it runs.
func (c *choices) askLocked() {
	if !c.asking {
		c.asking = true
		c.life.spawn(c.ask)
	}
}

// ask asks for choices, up to 500 users at once, until it has asked about every user who
// waits, or of whom there is a doubt. Users whose answer fails are asked about again later. They delay no other user.
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
			c.users.mu.Lock()
			for i, user := range users {
				c.answeredLocked(user, choice{Status: kept[i].Status, order: kept[i].Order})
			}
			c.users.mu.Unlock()
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
	c.users.mu.Lock()
	early := time.Until(c.askAfter)
	c.users.mu.Unlock()
	if early > 0 && !wait.For(ctx, early) {
		return nil, false
	}
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	for len(c.order) > 0 && len(users) < maxAskedAtOnce {
		user := c.order[0]
		c.order = c.order[1:]
		delete(c.listed, user)
		d := c.doubts[user]
		if d != nil {
			d.asked = true
		}
		if d != nil || len(c.waiting[user]) > 0 {
			users = append(users, user)
		}
	}
	c.asking = len(users) > 0
	return users, c.asking
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
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	c.answeredLocked(user, choice{Status: cmp.Or(status, kept.Status), order: kept.Order})
}

// askLater asks about users again after a pause, or once the store is back, and logs why they
// wait. A grace at another node may hold them meanwhile: so a short one shortens the pause.
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
		c.users.mu.Lock()
		defer c.users.mu.Unlock()
		for _, user := range users {
			c.enqueueLocked(user)
		}
	})
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
