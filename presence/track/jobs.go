package track

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Bounds of one call of a job. Swept.More asks for another call. A store that hangs delays a cron by
// jobTimeout at most.
const (
	maxSwept    = 10_000
	maxLastSeen = 100_000 // users of whom a topic remembers when they were last seen
	jobTimeout  = 5 * time.Second
)

// jobs are the methods that a site's cron calls.
type jobs struct {
	cfg       *Config
	stats     *counters
	store     backend.Store
	outage    *outage
	leases    *leases
	nodeLease *nodeLease
	fleet     *fleet
}

// sweep is [Tracker.Sweep].
func (j *jobs) sweep(ctx context.Context) (backend.Swept, error) {
	j.fleet.sweeps()
	o, may, err := j.outage.sweeps()
	if err != nil || !may {
		return backend.Swept{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	asked := time.Now()
	swept, err := j.store.Sweep(ctx, o)
	switch {
	case errors.Is(err, presence.ErrRestarted):
		err = nil
		j.leases.missed(0)
	case err != nil, o.Look:
	case o.RenewedWithin == 0:
		if !swept.More {
			j.stats.sweptClean.Store(int64(asked.Sub(j.stats.began)))
		}
		j.outage.settles(asked)
	}
	j.outage.reportSweep(err)
	if err != nil {
		j.nodeLease.doubt.Wake()
	}
	j.stats.sweeps.Add(1)
	j.stats.swept.Add(uint64(swept.Leases))
	j.stats.leaves.Add(uint64(swept.Leaves))
	return swept, err
}

// age is [Tracker.Age].
func (j *jobs) age(ctx context.Context) (turned int, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	turned, err = j.store.Age(ctx, j.cfg.Age)
	j.stats.rotations.Add(uint64(turned))
	return turned, err
}

// trim is [Tracker.Trim].
func (j *jobs) trim(ctx context.Context) (forgotten int, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	forgotten, err = j.store.Trim(ctx, j.cfg.LastSeenKeep, maxLastSeen)
	j.stats.trimmed.Add(uint64(forgotten))
	return forgotten, err
}
