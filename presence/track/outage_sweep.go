package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// sweeps says what a sweep of this node may remove now, and whether it may ask the store at all. It is
// the one place of a node that decides so. It returns [presence.ErrStoreOut] while the store is out. The store itself
// decides after it started again: see backend.Swept.
//
//	the store                                       expired leases           what hangs on a silent process
//	out, hanging, or with trouble in the latest     none                     none
//	min(TTL, 7 s)
//	lost data lately, or refused the latest sweep   none: the sweep looks    none
//	                                                whether it started again
//	otherwise                                       all                      all, if this node judges
//
// The beginning of this node counts as trouble, because a node cannot know what was before. Example with a TTL
// of 3 s: Redis is away for 6 s, and node B is deployed meanwhile. Just after Redis is back the new node B finds
// it in order, and the leases of all nodes expired.
//
// While the nodes restore what a store lost, the lease of a user may end who has gone on at
// another node: the join there waits for what the user chose. In a short outage, too, a grace may end
// of a user who has gone on at another node, which finds the store back a little later.
func (o *outage) sweeps() (opts backend.SweepOptions, may bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	opts.Doubt = restoreFor(o.cfg.shortestTTL())
	switch {
	case o.hangsLocked():
		return opts, false, o.sweepErr
	case o.isOutLocked():
		return opts, false, presence.ErrStoreOut
	case o.sweepErr != nil, !o.lost.IsZero() && time.Since(o.lost) < opts.Doubt:
	case time.Since(later(o.began, o.trouble)) < o.cfg.catchUp():
		return opts, false, nil
	default:
		opts.Limit, opts.Nodes = maxSwept, o.process.judges(o.cfg.NodeTTL)
	}
	return opts, true, nil
}

// reportSweep takes the result of a sweep. A refused or unanswered sweep is a sign of an outage, which lasts until
// one succeeds.
func (o *outage) reportSweep(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || o.sweepErr != nil {
		o.trouble = time.Now()
	}
	o.sweepErr = err
}

// A processLease is what this node knows about the lease of its own process (rule 7), and about those of
// other processes.
type processLease struct {
	renewed time.Time // the latest renewal; zero: none
	trouble time.Time // when a renewal last failed, or found the lease lapsed
	lapse   time.Time // when the next process lapses, unless it renews its lease
}

// judges reports whether a process has lapsed and this node may sweep its connections. While the store was
// out or hung, no node could renew its lease. So a node that could not renew its own lease waits until all
// others had time to renew theirs, and so does a node that has just started.
//
// Example with a NodeTTL of 10 s. Redis hangs from 12:00:00 to 12:00:12, and the leases of all nodes have
// lapsed. Node A notices at 12:00:12 that Redis is back, renews its lease, and learns that it had lapsed.
// Node B does so by 12:00:14. Until 12:00:19 neither sweeps connections of other processes.
func (p *processLease) judges(term time.Duration) bool {
	return !time.Now().Before(p.lapse) && time.Since(p.renewed) < term && time.Since(p.trouble) >= min(catchUpLongest, term)
}

// reportProcess takes the result of renewing the lease of this process: whether the lease was alive, and how
// long until the next process lapses. lapsed is true if the lease had lapsed or was lost. stalled is true if
// that happened because this process stood still while the store worked.
//
// A store that hung also executes calls whose callers gave up. So a renewal may find a lease that an earlier
// renewal has just made again, although no caller got the answer that it had lapsed.
func (o *outage) reportProcess(alive bool, next time.Duration, err error) (lapsed, stalled bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, now := &o.process, time.Now()
	alive = alive && (p.renewed.IsZero() || now.Sub(p.renewed) < o.cfg.NodeTTL)
	if !p.renewed.IsZero() && err == nil && !alive {
		lapsed = true
		stalled = now.Sub(p.renewed) >= o.cfg.NodeTTL && p.trouble.Before(p.renewed) // otherwise the log says that the store is out
	}
	if err != nil || !alive {
		p.trouble = now
	}
	if err == nil {
		p.renewed, p.lapse = now, now.Add(next)
	}
	return lapsed, stalled
}
