package track

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Bounds of one call of a job. Swept.More asks for another call. A store that hangs does
// not hold up a cron for longer than jobTimeout.
const (
	maxSwept    = 10_000
	maxLastSeen = 100_000 // users of whom a topic remembers when they were last seen
	jobTimeout  = 5 * time.Second
)

// Sweep removes expired leases in all topics of the store, and announces the leaves; see
// [backend.Core.Sweep]. After an outage it leaves alone what nobody could renew, and so it does where
// the store started again with old data. It returns [presence.ErrStoreOut] while the store is out.
func (t *Tracker) Sweep(ctx context.Context) (backend.Swept, error) {
	t.fleet.sweeps()
	o, may, err := t.outage.sweeps()
	if err != nil || !may {
		return backend.Swept{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	asked := time.Now()
	swept, err := t.store.Sweep(ctx, o)
	switch {
	case errors.Is(err, presence.ErrRestarted):
		err = nil
		t.leases.missed(0)
		t.leases.restoreSoon()
	case err != nil, o.Look:
	case o.RenewedWithin == 0:
		if !swept.More {
			t.stats.sweptClean.Store(int64(asked.Sub(t.stats.began)))
		}
		t.outage.settles(asked)
	}
	t.outage.reportSweep(err)
	if err != nil {
		t.nodeLease.doubt.Wake()
	}
	t.stats.sweeps.Add(1)
	t.stats.swept.Add(uint64(swept.Leases))
	t.stats.leaves.Add(uint64(swept.Leaves))
	return swept, err
}

// Age turns the current sets into the old ones where a period is over; see [backend.Core.Age].
// Call it several times a period: it is a no-op before its time.
func (t *Tracker) Age(ctx context.Context) (turned int, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	turned, err = t.store.Age(ctx, t.cfg.Age)
	t.stats.rotations.Add(uint64(turned))
	return turned, err
}

// Trim forgets users who were last seen long ago; see [backend.Core.Trim].
func (t *Tracker) Trim(ctx context.Context) (forgotten int, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	forgotten, err = t.store.Trim(ctx, t.cfg.LastSeenKeep, maxLastSeen)
	t.stats.trimmed.Add(uint64(forgotten))
	return forgotten, err
}
