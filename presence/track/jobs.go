package track

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
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

// maxSweepRest is the longest time in which no sweep asks the store.
const maxSweepRest = 10 * time.Second

// jobs are the methods that a site's cron calls.
type jobs struct {
	cfg       *Config
	stats     *counters
	store     backend.Store
	outage    *outage
	leases    *leases
	nodeLease *nodeLease
	fleet     *fleet
	rest      atomic.Pointer[sweepRest]
}

// A sweepRest is a time in which no lease expires, as a sweep found.
type sweepRest struct{ from, until time.Time }

// rests reports whether a sweep would find nothing to do. After trouble, leases may expire sooner than the
// latest sweep found.
func (j *jobs) rests(o backend.SweepOptions) bool {
	r := j.rest.Load()
	plain := !o.Look && !o.Nodes && !o.Restarted
	return plain && r != nil && time.Now().Before(r.until) && j.outage.soundFor() > time.Since(r.from)
}

// sweep is [Tracker.Sweep].
func (j *jobs) sweep(ctx context.Context) (backend.Swept, error) {
	j.fleet.sweeps()
	o, may, err := j.outage.sweeps()
	if may && o.Restarted {
		if err := j.settles(ctx, o); err != nil {
			return backend.Swept{}, err
		}
		o, may, err = j.outage.sweeps()
	}
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
	case errors.Is(err, presence.ErrRestarted):
		err = nil
		j.leases.missed(0)
	case err != nil, o.Look:
	default:
		if !swept.More {
			j.stats.sweptClean.Store(int64(asked.Sub(j.stats.began)))
		}
		j.outage.settles(asked)
		j.rest.Store(&sweepRest{asked, asked.Add(swept.Next)})
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

// toldWithin is how long a node takes to hear that another one has met a server that started again.
const toldWithin = 250 * time.Millisecond

// settles tells a store that started again that the nodes have renewed their leases. That removes nothing: the
// server may have started once more since, and another node may just have met it. By the next sweep this node has
// heard of that.
//
// Example with a TTL of 3 s: Redis starts again with its file at 12:00:00.0, and all nodes may sweep from 12:00:05.0
// on. At 12:00:04.9 it starts again. The sweep of node A at 12:00:05.0 is refused. That of node B, a millisecond
// later, would find a server that has been met, and remove the leases of everybody.
func (j *jobs) settles(ctx context.Context, o backend.SweepOptions) error {
	try, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	o.Look = true
	asked := time.Now()
	switch _, err := j.store.Sweep(try, o); {
	case errors.Is(err, presence.ErrRestarted):
		j.leases.missed(0)
		return nil
	case err != nil:
		j.outage.reportSweep(err)
		j.nodeLease.doubt.Wake()
		return err
	}
	j.outage.settles(asked)
	wait.For(ctx, toldWithin)
	return ctx.Err()
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
