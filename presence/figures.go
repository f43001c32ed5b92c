package presence

import "context"

// Counts returns the figures of each topic, in the order of the topics, to within half a
// second. Topics that are kept here come from memory; all others together cost one round
// trip to the store at most, and are not kept current after that. The guests and the recent
// users of a topic whose figures the store cannot tell are 0, and it is marked Unknown.
// Counts returns [ErrStoreOut].
func (t *Tracker) Counts(ctx context.Context, topics ...Topic) ([]Counts, error) {
	counts, err := t.store.Counts(ctx, topics...)
	return counts, storeOut(err)
}
