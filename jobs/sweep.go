package jobs

import (
	"context"

	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Sweep removes all expired leases, in all topics, and announces the leaves of their
// users. It returns what it did, also beside an error. The error is the store's or that of
// ctx. It costs a call of [track.Tracker.Sweep] for about 10,000 leases. It may be
// called concurrently, and on several nodes.
func Sweep(ctx context.Context, tracker *track.Tracker) (backend.Swept, error) {
	var all backend.Swept
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
