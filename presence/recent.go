package presence

import (
	"context"
	"fmt"
	"time"
)

// maxRecentPage is the most users on a page of [Tracker.Recent].
const maxRecentPage = 1_000

// Recent returns a page of the users who were active in a topic lately, the latest active
// first. It costs one round trip to the store. Where the topic's [Kind] remembers no names,
// or is count-only, the page has the right Total and no users.
//
// It returns [ErrStoreOut], or an error that is [ErrInvalidQuery].
func (t *Tracker) Recent(ctx context.Context, topic Topic, q RecentQuery) (RecentPage, error) {
	if err := q.validate(); err != nil {
		return RecentPage{}, err
	}
	kind := t.cfg.Kind(topic)
	page, err := t.store.Recent(ctx, topic, q)
	if err != nil {
		return RecentPage{}, storeOut(err)
	}
	if kind.Recent == 0 || kind.CountOnly {
		page.Users, page.Next = nil, ""
	}
	return page, nil
}

// validate returns nil, or an error that is [ErrInvalidQuery].
func (q RecentQuery) validate() error {
	switch {
	case q.Within < 0 || q.Within > MaxWithin:
		return fmt.Errorf("%w: Within must be 0 to %v", ErrInvalidQuery, MaxWithin)
	case q.Limit < 1 || q.Limit > maxRecentPage:
		return fmt.Errorf("%w: Limit must be 1 to %d", ErrInvalidQuery, maxRecentPage)
	}
	return nil
}

// LatelyActive returns the first page of [Tracker.Recent] from memory, for a page of the
// site. The memory is at most about 15 s old while somebody asks, and Online is as the
// topic's roster here has it. The first call for a topic waits for the store as
// [Tracker.View] does. Its errors are those of Recent.
func (t *Tracker) LatelyActive(ctx context.Context, topic Topic, within time.Duration, limit int) (RecentPage, error) {
	return t.Recent(ctx, topic, RecentQuery{Within: within, Limit: limit})
}
