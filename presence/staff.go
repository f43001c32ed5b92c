package presence

import "context"

// Topics returns up to most topics of the fleet that have a user, guest or bot, or had one
// lately, and that come after one, by their bytes. It is for staff: it goes to the store,
// and costs a few round trips. Its error is [ErrStoreOut].
func (t *Tracker) Topics(ctx context.Context, after Topic, most int) ([]Topic, error) {
	topics, err := t.store.Topics(ctx, after, most)
	return topics, storeOut(err)
}

// Inspect returns up to most users of a topic, also invisible ones, with what holds them,
// by their IDs from after one on. It is for staff: it goes to the store, and costs a few
// round trips. Its error is [ErrStoreOut].
func (t *Tracker) Inspect(ctx context.Context, topic Topic, after UserID, most int) ([]Inspected, error) {
	users, err := t.store.Inspect(ctx, topic, after, most)
	return users, storeOut(err)
}
