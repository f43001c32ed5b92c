package track

import (
	"context"
	"errors"
	"fmt"
	"time"

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
