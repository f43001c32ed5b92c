package jobs

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// Sweep removes the leases that have expired by now, in all topics, and
// announces their leaves. It returns what it did, also along with an error,
// which is the store's or that of ctx. It costs a call of [presence.Tracker.Sweep]
// for every 10,000 leases or so. Any number may run at once, on any nodes.
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

// Age turns the current set of page views into the old one, in each topic where
// that was last done a period ago, and returns how many those were. The period
// is the tracker's Age; call it several times in each, so that the turn is not
// late. Before its time it does nothing. It may run on any nodes at once.
func Age(ctx context.Context, tracker *presence.Tracker) (turned int, err error) {
	return tracker.Age(ctx)
}

// Trim forgets users who were last seen longer ago than the tracker's LastSeenKeep,
// and in each topic all but the latest MaxLastSeen; and by the same two bounds the
// statuses that users chose. It returns how many entries it forgot, of both kinds.
// Once an hour is plenty. It may run on any nodes at once.
func Trim(ctx context.Context, tracker *presence.Tracker) (forgotten int, err error) {
	return tracker.Trim(ctx)
}
