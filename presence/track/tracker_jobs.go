package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// Sweep removes expired leases in all topics of the store, and announces the leaves; see
// [backend.Store.Sweep]. After an outage, or a restart of the store with old data, it spares leases that no
// node could renew. It returns [presence.ErrStoreOut] while the store is out.
func (t *Tracker) Sweep(ctx context.Context) (backend.Swept, error) {
	return t.jobs.sweep(ctx)
}

// Age turns the current sets into the old ones if a period is over; see [backend.Store.Age]. Call it several
// times a period: it is a no-op before its time.
func (t *Tracker) Age(ctx context.Context) (turned int, err error) {
	return t.jobs.age(ctx)
}

// Trim forgets users who were last seen long ago; see [backend.Store.Trim].
func (t *Tracker) Trim(ctx context.Context) (forgotten int, err error) {
	return t.jobs.trim(ctx)
}
