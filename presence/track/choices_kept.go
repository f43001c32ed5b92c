package track

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What users chose is kept in the site's Directory, or in the store where there is none. The store keeps the status alone.
// It may lose that, and the nodes tell it again: see choices.republish.

// keptWait is how long a node waits for the store's answer about what users chose.
const keptWait = 2 * time.Second

// load returns what users chose.
func (c *choices) load(ctx context.Context, users ...presence.UserID) ([]presence.Settings, error) {
	if c.directory.on() {
		return c.directory.settings(ctx, users...)
	}
	ctx, cancel := context.WithTimeout(ctx, keptWait)
	defer cancel()
	kept, err := c.store.Statuses(ctx, users...)
	if err == nil && len(kept) != len(users) {
		err = fmt.Errorf("the store answers for %d users of %d", len(kept), len(users))
	}
	if err != nil {
		return nil, err
	}
	all := make([]presence.Settings, len(kept))
	for i, k := range kept {
		all[i] = presence.Settings{Status: k.Status, Rev: k.Rev}
	}
	return all, nil
}

// save replaces the settings with the revision s.Rev, and returns the new revision. In the store it also replaces a choice
// that only this node knows.
func (c *choices) save(ctx context.Context, user presence.UserID, s presence.Settings) (rev int64, err error) {
	if c.directory.on() {
		return c.directory.setSettings(ctx, user, s, func() { c.mayHaveChanged(user) })
	}
	ctx, cancel := context.WithTimeout(ctx, keptWait)
	defer cancel()
	was := max(s.Rev, c.users.choiceOf(user).rev())
	return c.store.PutStatus(ctx, user, backend.ChosenStatus{Status: s.Status, Rev: was}, false)
}

// out wraps an error of load or save.
func (c *choices) out(err error) error {
	out := presence.ErrStoreOut
	if c.directory.on() {
		out = presence.ErrDirectoryOut
	}
	if errors.Is(err, out) {
		return err
	}
	return fmt.Errorf("%w: %w", out, err)
}

// choicesWait is how long a node waits after a loss of data, until the other nodes have published the choices
// that they know.
const choicesWait = 2 * restoreWait

// askFrom lets the store not be asked what users chose, until the other nodes have told it after a loss at a moment. An answer that is
// under way may be of after the loss, so it settles nothing.
func (c *choices) askFrom(lost time.Time) {
	if !c.directory.on() {
		c.users.askFrom(lost.Add(choicesWait))
		c.users.askAgain(slices.Collect(maps.Keys(c.users.openQuestions(false)))...)
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
		held := c.users.doubt(func(user presence.UserID, _ choice) bool { return c.users.heldLocked(user) })
		c.users.askAgain(slices.AppendSeq(slices.Collect(maps.Keys(c.users.openQuestions(false))), maps.Keys(held))...) // an answer that is under way may be too old
		return
	}
	known := c.users.doubt(func(_ presence.UserID, was choice) bool { return was.rev() > 0 })
	at := time.Now()
	c.askFrom(at)
	c.life.spawn(func(ctx context.Context) {
		for user, was := range known {
			c.keepAgain(ctx, user, was)
		}
		if wait.For(ctx, time.Until(at.Add(choicesWait))) {
			c.users.askAgain(slices.Collect(maps.Keys(known))...)
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
