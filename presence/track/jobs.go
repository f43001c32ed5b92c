package track

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// Bounds of one call of a job. Swept.More asks for another call. A store that hangs delays a cron by
// jobTimeout at most.
const (
	maxSwept    = 10_000
	maxLastSeen = 100_000 // users of whom a topic remembers when they were last seen
	jobTimeout  = 5 * time.Second
)

// maxSweepRest is the longest time in which no sweep asks the store.
const maxSweepRest = 10 * time.Second

// jobs are the methods that a site's cron calls.
type jobs struct {
	cfg    *Config
	stats  *counters
	store  backend.Store
	outage *outage
	leases *leases
	poller *poller
	fleet  *fleet
	tell   func(backend.Notice)
	rest   atomic.Pointer[sweepRest]
}

// A sweepRest is a time in which no lease expires, as a sweep found.
type sweepRest struct{ from, until time.Time }

// rests reports whether a sweep would find nothing to do. After trouble, leases may expire sooner than the
// latest sweep found.
func (j *jobs) rests(o backend.SweepOptions) bool {
	r := j.rest.Load()
	return o.Limit > 0 && !o.Nodes && r != nil && time.Now().Before(r.until) && j.outage.soundFor() > time.Since(r.from)
}

// sweep is [Tracker.Sweep].
func (j *jobs) sweep(ctx context.Context) (backend.Swept, error) {
	j.fleet.sweeps()
	o, may, err := j.outage.sweeps()
	if err != nil || !may {
		return backend.Swept{}, err
	}
	asked := time.Now()
	o.Soonest = j.cfg.soonest()
	if j.rests(o) {
		j.stats.sweptClean.Store(int64(asked.Sub(j.stats.began)))
		j.stats.sweeps.Add(1)
		return backend.Swept{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	swept, err := j.store.Sweep(ctx, o)
	switch {
	case swept.Doubt:
		j.leases.missed(0)
	case err == nil && o.Limit > 0:
		if !swept.More {
			j.stats.sweptClean.Store(int64(asked.Sub(j.stats.began)))
		}
		j.rest.Store(&sweepRest{asked, asked.Add(swept.Next)})
	}
	j.outage.reportSweep(err)
	if err != nil {
		j.poller.soon.Wake()
	}
	for _, process := range swept.Gone {
		j.tell(backend.Notice{Kind: backend.NoticeGone, Payload: process})
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
