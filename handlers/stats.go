package handlers

import (
	"net/http"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// Stats are the figures of a [Handler]: gauges of now, and counters since New.
// [track.Stats].Resyncs counts the states sent to readers that had lagged too far
// behind.
type Stats struct {
	Connections Connections // open now
	Behind      int         // open streams whose client has not read all that was written

	Events  uint64 // sent over streams, and in answers to long polls
	Bytes   uint64 // of those events, framed
	Failed  uint64 // writes to streams that failed because the client had gone
	SlowCut uint64 // streams ended because the client did not read within the write deadline
	Limited uint64 // requests and messages refused because there were too many: 429 and 1008

	Crowded    uint64 // requests that shared one rate because too many visitors had one of their own
	Full       uint64 // streams and polls refused because Config.MaxConnections were open: 503
	TenantFull uint64 // streams and polls refused because Config.MaxConnectionsPerTenant of their tenant were open: 503
	TooLarge   uint64 // requests and messages refused for their size: 413, 431 and 1009
	Foreign    uint64 // requests refused because they came from a page of another origin: 403
	Snapshots  uint64 // requests for a state over a WebSocket that were answered together with another
	SitePanics uint64 // calls of Config.Authorize, Enter, ClientIP, EndSession, Widget, Down and Whisper.Data that panicked
	Unanswered uint64 // streams and polls ended, and subscriptions refused, because Config.Authorize did not answer in time
	Unrendered uint64 // widgets left out of a stream because Config.Widget did not answer in time
	Broken     uint64 // streams ended by a panic

	Feeds *feed.Stats // the figures of Config.Feeds; nil without feeds
}

// Connections are the open connections by transport.
type Connections struct {
	SSE       int
	WebSocket int
	Poll      int
}

// counters are the figures as they are counted.
type counters struct {
	sse, socket, poll atomic.Int64
	behind            atomic.Int64
	events, bytes     atomic.Uint64
	slowCut, limited  atomic.Uint64
	failed            atomic.Uint64 // writes

	crowded, full, tenantFull, tooLarge, foreign, snapshots atomic.Uint64
	sitePanics, unanswered, unrendered, broken              atomic.Uint64
}

// refused counts a refused request or message.
func (c *counters) refused(status int) {
	switch status {
	case http.StatusTooManyRequests:
		c.limited.Add(1)
	case http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge:
		c.tooLarge.Add(1)
	}
}

// Stats returns the Handler's figures. It costs about a microsecond, and may be called
// concurrently.
func (h *Handler) Stats() Stats {
	c := &h.counters
	var feeds *feed.Stats
	if h.cfg.Feeds != nil {
		s := h.cfg.Feeds.Stats()
		feeds = &s
	}
	return Stats{
		Connections: Connections{SSE: int(c.sse.Load()), WebSocket: int(c.socket.Load()), Poll: int(c.poll.Load())},
		Behind:      int(c.behind.Load()),
		Events:      c.events.Load(),
		Bytes:       c.bytes.Load(),
		Failed:      c.failed.Load(),
		SlowCut:     c.slowCut.Load(),
		Limited:     c.limited.Load(),

		Crowded:    c.crowded.Load(),
		Full:       c.full.Load(),
		TenantFull: c.tenantFull.Load(),
		TooLarge:   c.tooLarge.Load(),
		Foreign:    c.foreign.Load(),
		Snapshots:  c.snapshots.Load(),
		SitePanics: c.sitePanics.Load(),
		Unanswered: c.unanswered.Load(),
		Unrendered: c.unrendered.Load(),
		Broken:     c.broken.Load(),

		Feeds: feeds,
	}
}
