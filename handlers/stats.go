package handlers

import "sync/atomic"

// Stats are a [Handler]'s figures: gauges of now, and counters since it was
// made. States sent in the place of what a slow reader missed are counted by
// [presence.Stats].Resyncs.
type Stats struct {
	Connections Connections // open now
	Behind      int         // streams of them that wait for their reader to take what was written

	Events  uint64 // sent over streams, and in answers to long polls
	Bytes   uint64 // of those events, framed
	SlowCut uint64 // streams ended since their reader did not take what was written in time
	Limited uint64 // requests and messages refused for there were too many: 429 and 1008

	Crowded    uint64 // requests that shared one rate, since too many visitors had one of their own
	Full       uint64 // streams and polls refused since Config.MaxConnections were open: 503
	TooLarge   uint64 // requests and messages refused for their size: 413, 431 and 1009
	Foreign    uint64 // requests refused since they came from a page of another origin: 403
	Snapshots  uint64 // requests for a state over a WebSocket that were answered together with another
	SitePanics uint64 // calls of Config.Authorize, ClientIP and Widget that panicked
	Unanswered uint64 // streams and polls ended, and subscriptions refused, since Config.Authorize did not answer in time
	Unrendered uint64 // widgets left out of a stream since Config.Widget did not answer in time
	Broken     uint64 // streams ended by a panic
}

// Connections counts what is open by transport.
type Connections struct {
	SSE       int
	WebSocket int
	Poll      int // answers that are waited for
}

// counters are what a Handler counts. Those that are written with every event
// stand by themselves where streams are written.
type counters struct {
	sse, socket, poll atomic.Int64
	behind            atomic.Int64
	events, bytes     atomic.Uint64
	slowCut, limited  atomic.Uint64

	crowded, full, tooLarge, foreign, snapshots atomic.Uint64
	sitePanics, unanswered, unrendered, broken  atomic.Uint64
}

// Stats returns the Handler's figures. It may be called at any time.
func (h *Handler) Stats() Stats {
	c := &h.counters
	return Stats{
		Connections: Connections{SSE: int(c.sse.Load()), WebSocket: int(c.socket.Load()), Poll: int(c.poll.Load())},
		Behind:      int(c.behind.Load()),
		Events:      c.events.Load(),
		Bytes:       c.bytes.Load(),
		SlowCut:     c.slowCut.Load(),
		Limited:     c.limited.Load(),

		Crowded:    c.crowded.Load(),
		Full:       c.full.Load(),
		TooLarge:   c.tooLarge.Load(),
		Foreign:    c.foreign.Load(),
		Snapshots:  c.snapshots.Load(),
		SitePanics: c.sitePanics.Load(),
		Unanswered: c.unanswered.Load(),
		Unrendered: c.unrendered.Load(),
		Broken:     c.broken.Load(),
	}
}
