package presence

import (
	"context"
	"slices"
)

// Topics returns up to most topics of the fleet that have a user, guest or bot, or had one
// lately: those after a given topic, in the order of their bytes. It is for staff: it asks
// the store each time, and costs a few round trips. Its error is [ErrStoreOut].
func (t *Tracker) Topics(ctx context.Context, after Topic, most int) ([]Topic, error) {
	for {
		all, err := t.store.Topics(ctx, after, most)
		topics := slices.DeleteFunc(slices.Clone(all), Topic.Reserved)
		if err != nil || len(all) == 0 || len(topics) > 0 {
			return topics, storeOut(err)
		}
		after = all[len(all)-1]
	}
}

// Inspect returns up to most users of a topic with their leases, also invisible users: those
// after a given user, in the order of their IDs. It is for staff: it asks the store each
// time, and costs a few round trips. Its error is [ErrStoreOut].
func (t *Tracker) Inspect(ctx context.Context, topic Topic, after UserID, most int) ([]Inspected, error) {
	users, err := t.store.Inspect(ctx, topic, after, most)
	return users, storeOut(err)
}
