package presence

import "context"

// Topics returns up to most topics of the fleet that have a user, guest or bot, or had one
// lately: those after a given topic, in the order of their bytes. It is for staff: it asks
// the store each time, and costs a few round trips. Its error is [ErrStoreOut].
func (t *Tracker) Topics(ctx context.Context, after Topic, most int) ([]Topic, error) {
	topics, err := t.store.Topics(ctx, after, most)
	return topics, storeOut(err)
}

// Inspect returns up to most users of a topic with their leases, also invisible users: those
// after a given user, in the order of their IDs. It is for staff: it asks the store each
// time, and costs a few round trips. Its error is [ErrStoreOut].
func (t *Tracker) Inspect(ctx context.Context, topic Topic, after UserID, most int) ([]Inspected, error) {
	users, err := t.store.Inspect(ctx, topic, after, most)
	return users, storeOut(err)
}
