package track

import (
	"slices"
)

// readStats is [Tracker.Stats].
func (t *Tracker) readStats() Stats {
	s := Stats{
		Kinds:          make(map[string]KindStats),
		Windows:        int(t.stats.windows.Load()),
		Pending:        t.writer.size(),
		StoreOut:       t.outage.latestFailed(),
		DiffsReceived:  t.stats.diffsReceived.Load(),
		DiffsPublished: t.stats.diffsPublished.Load(),
		DiffsMerged:    t.stats.diffsMerged.Load(),
		Gaps:           t.stats.gaps.Load(),
		Resyncs:        t.stats.resyncs.Load(),
		Dropped:        t.stats.dropped.Load(),
		Rejected:       t.stats.rejected.Load(),
		Forgotten:      t.stats.forgotten.Load(),
		Aborted:        t.stats.aborted.Load(),
		Refused:        t.stats.refused.Load(),
		Sweeps:         t.stats.sweeps.Load(),
		Swept:          t.stats.swept.Load(),
		Leaves:         t.stats.leaves.Load(),
		Rotations:      t.stats.rotations.Load(),
		Trimmed:        t.stats.trimmed.Load(),
		SweepLag:       t.stats.sweepLag(),
		ResumedByDiff:  t.stats.resumedByDiff.Load(),
		ResumedByState: t.stats.resumedByState.Load(),
		BeatsByRequest: t.stats.beatsByRequest.Load(),
		BeatsByStream:  t.stats.beatsByStream.Load(),
		ScreenLag:      t.stats.screenLag.read(),
		Sessions:       t.stats.sessions.read(),
		Calls:          t.store.calls.stats(),
		Deliveries:     t.deliveries.Stats(),
		Signals:        t.stats.signals.stats(),
		People:         t.peopleStats(),
		Store:          t.store.Stats(),
	}
	s.Connections, s.ConnectedUsers = t.users.figures()
	replicas := slices.DeleteFunc(t.topics.all(), func(r *replica) bool { return r.out.topic.Reserved() })
	s.Topics = len(replicas)
	for _, r := range replicas {
		if v := r.view.Load(); v != nil {
			k := s.Kinds[r.out.topic.Kind()]
			s.Kinds[r.out.topic.Kind()] = KindStats{k.Topics + 1, k.Users + v.Total, k.Guests + v.Guests}
		}
	}
	return s
}
