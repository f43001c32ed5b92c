package track

import "sync/atomic"

// SignalStats are the figures of signals on this node, since it began.
type SignalStats struct {
	Site     uint64 // signals of the site: calls of Tracker.Signal
	Visitors uint64 // signals of visitors that Tracker.Whisper accepted

	// Signals that were dropped, here or as they came from another node.
	Often   uint64 // too many of visitors in a topic (rule S3)
	Full    uint64 // too many at once in a topic, or in too many topics
	Unseen  uint64 // from senders whom the topic's roster does not show (rule S1)
	Large   uint64 // too many bytes in a topic (rule S4)
	Crowded uint64 // sent, but not to readers who came later: too many stood in the topic

	Late    uint64 // broadcasts that the store delivered more than a second late
	Unsent  uint64 // broadcasts that the store did not accept
	Invalid uint64 // broadcasts of which all signals, or some, could not be read
}

type signalCounters struct {
	site, visitors, often, full, unseen, large, crowd, late, unsent, invalid atomic.Uint64
}

func (c *signalCounters) stats() SignalStats {
	return SignalStats{
		Site: c.site.Load(), Visitors: c.visitors.Load(),
		Often: c.often.Load(), Full: c.full.Load(), Unseen: c.unseen.Load(), Large: c.large.Load(), Crowded: c.crowd.Load(),
		Late: c.late.Load(), Unsent: c.unsent.Load(), Invalid: c.invalid.Load(),
	}
}
