package jobs

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// Sweep removes all expired leases, in all topics, and announces the leaves of their
// users. It returns what it did, also beside an error. The error is the store's or that of
// ctx. It costs a call of [presence.Tracker.Sweep] for about 10,000 leases. It may be
// called concurrently, and on several nodes.
func Sweep(ctx context.Context, tracker *presence.Tracker) (presence.Swept, error) {
	var all presence.Swept
	for {
		swept, err := tracker.Sweep(ctx)
		all.Leases += swept.Leases
		all.Leaves += swept.Leaves
		if err == nil && swept.More {
			err = ctx.Err()
		}
		if all.More = swept.More; err != nil || !swept.More {
			return all, err
		}
	}
}

// Age turns the current set of page views into the old one in each topic where the last
// turn was a period ago, and returns the number of these topics. The period is the
// tracker's Age. Call it several times a period, so that the turn is not late; an early
// call does nothing. It may be called concurrently, and on several nodes.
func Age(ctx context.Context, tracker *presence.Tracker) (turned int, err error) {
	return tracker.Age(ctx)
}

// Trim removes last-seen times older than the tracker's LastSeenKeep, and in each topic all
// but the latest MaxLastSeen. The same two bounds hold for the statuses that users chose.
// It returns the number of removed entries of both sorts. Once an hour is enough. It may
// be called concurrently, and on several nodes.
func Trim(ctx context.Context, tracker *presence.Tracker) (removed int, err error) {
	return tracker.Trim(ctx)
}
