package feed

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Stats are a Keeper's figures since it began. None of them is about one user.
type Stats struct {
	Lines   int     // feeds that pages here follow, or followed a moment ago
	Waiting int     // rows of the outbox that wait, as of at most 15 s ago
	Oldest  float64 // seconds for which the oldest of them waits
	GivenUp int     // rows of the outbox that were given up

	Relays, Moved   uint64            // batches with items, and items made or changed
	Failed, Dropped map[string]uint64 // see [Relayed]; all reasons are there
	HintsSent       uint64            // feeds in hints to other nodes
	HintsHeard      uint64            // of feeds that pages here follow
	CatchUps        uint64            // feeds read because of a hint or a page
	Mended          uint64            // feeds whose hint was lost: a check found a new revision
	Digests         map[string]uint64 // by result: sent, put_off, failed
	Trimmed         uint64            // rows
	Miscounted      uint64            // feeds whose counters were mended (rule F3)
	DatabaseOut     bool              // the latest call failed
}

// The labels of the figures.
var (
	FailedReasons  = []string{"json", "message", "database"}
	DroppedReasons = []string{"self", "muted", "twice", "full"}
	DigestOutcomes = []string{"sent", "put_off", "failed"}
)

// counters count for Stats.
type counters struct {
	relays, moved, hintsSent, hintsHeard, catchUps, mended, trimmed, miscounted atomic.Uint64

	outbox atomic.Pointer[Outbox]

	mu                       sync.Mutex
	failed, dropped, digests map[string]uint64
}

func (c *counters) relayed(r Relayed) {
	if r.Moved > 0 {
		c.relays.Add(1)
		c.moved.Add(uint64(r.Moved))
	}
	if len(r.Failed)+len(r.Dropped) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed, c.dropped = added(c.failed, r.Failed), added(c.dropped, r.Dropped)
}

func added(to map[string]uint64, more map[string]int) map[string]uint64 {
	if to == nil {
		to = make(map[string]uint64)
	}
	for reason, n := range more {
		to[reason] += uint64(n)
	}
	return to
}

func (c *counters) digest(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digests = added(c.digests, map[string]int{outcome: 1})
}

// Stats returns the figures. It reads memory only.
func (k *Keeper) Stats() Stats {
	c := &k.stats
	s := Stats{
		Relays: c.relays.Load(), Moved: c.moved.Load(), HintsSent: c.hintsSent.Load(), HintsHeard: c.hintsHeard.Load(),
		CatchUps: c.catchUps.Load(), Mended: c.mended.Load(), Trimmed: c.trimmed.Load(), Miscounted: c.miscounted.Load(),
		DatabaseOut: k.calls.isOut(),
	}
	if o := c.outbox.Load(); o != nil {
		s.Waiting, s.Oldest, s.GivenUp = o.Waiting, o.Oldest.Seconds(), o.Failed
	}
	s.Lines = k.follower.states.len()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Failed, s.Dropped, s.Digests = all(FailedReasons, c.failed), all(DroppedReasons, c.dropped), all(DigestOutcomes, c.digests)
	return s
}

// all returns counts with a zero for each missing label.
func all(words []string, counts map[string]uint64) map[string]uint64 {
	whole := make(map[string]uint64, len(words))
	for _, w := range words {
		whole[w] = 0
	}
	maps.Copy(whole, counts)
	return whole
}
