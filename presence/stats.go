package presence

import "sync/atomic"

// counters are what a Tracker counts since it began.
type counters struct {
	diffsReceived  atomic.Uint64
	diffsPublished atomic.Uint64
	diffsMerged    atomic.Uint64
	gaps           atomic.Uint64
	resyncs        atomic.Uint64
	storeErrors    atomic.Uint64
	dropped        atomic.Uint64
	aborted        atomic.Uint64
}

// Stats are a Tracker's figures: gauges of now, and counters since it began.
type Stats struct {
	Connections int // open here
	Topics      int // kept current here
	Pending     int // operations that wait for the store

	// Kinds are the topics kept current here, by what stands before the colon.
	Kinds map[string]KindStats

	DiffsReceived  uint64 // from the store
	DiffsPublished uint64 // to readers here, after merging
	DiffsMerged    uint64 // that went into another's frame
	Gaps           uint64 // diffs that were lost on the way, and read again
	Resyncs        uint64 // states sent to readers who lagged behind
	StoreErrors    uint64 // calls of the store that failed
	Dropped        uint64 // page views and heartbeats forgotten while the store was out
	Aborted        uint64 // connections that ended before they were open
}

// KindStats are the figures of the topics of one kind, added up.
type KindStats struct {
	Topics int
	Users  int // online
	Guests int
}

// Stats returns the Tracker's figures. It may be called at any time.
func (t *Tracker) Stats() Stats {
	t.mu.Lock()
	s := Stats{Connections: len(t.connections.byID), Topics: len(t.replicas), Kinds: make(map[string]KindStats)}
	t.mu.Unlock()
	for _, r := range t.allReplicas() {
		if v := r.view.Load(); v != nil {
			k := s.Kinds[r.topic.Kind()]
			s.Kinds[r.topic.Kind()] = KindStats{k.Topics + 1, k.Users + v.Total, k.Guests + v.Guests}
		}
	}
	s.Pending = t.writer.size()
	s.DiffsReceived = t.stats.diffsReceived.Load()
	s.DiffsPublished = t.stats.diffsPublished.Load()
	s.DiffsMerged = t.stats.diffsMerged.Load()
	s.Gaps = t.stats.gaps.Load()
	s.Resyncs = t.stats.resyncs.Load()
	s.StoreErrors = t.stats.storeErrors.Load()
	s.Dropped = t.stats.dropped.Load()
	s.Aborted = t.stats.aborted.Load()
	return s
}
