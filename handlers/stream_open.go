package handlers

import (
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// streams opens connections for pages, and has the parts that drive them.
type streams struct {
	tracker  *track.Tracker
	cfg      *settings
	site     *siteCode
	limits   *limits
	counters *counters
	faults   *faults
	types    *typeSets
	choices  *choices
	signals  *whispers

	widgets *renderer // of HTML streams
	rights  *rights
	shards  *shardPool
	open    openStreams
	batches batchPool
}

func newStreams(h *Handler, types *typeSets, signals *whispers) *streams {
	return &streams{
		tracker: h.tracker, cfg: h.cfg, site: h.site, limits: h.limits, counters: &h.counters, faults: h.faults,
		types: types, choices: h.choices, signals: signals,
		widgets: newRenderer(h.tracker, h.site), rights: newRights(h.site),
		shards: newShardPool(h.faults, runtime.GOMAXPROCS(0)),
	}
}

// openStream opens the stream that a request asks for. The driver closes it.
func (ss *streams) openStream(r *http.Request, o streamOptions, over transport, ofTransport *atomic.Int64) (*stream, error) {
	return ss.openStreamAfter(r, o, over, ofTransport, func() error { return nil })
}

// openStreamAfter opens a stream, and calls prepare once the stream is admitted but before its user is
// recorded. An error of prepare refuses the stream.
func (ss *streams) openStreamAfter(r *http.Request, o streamOptions, over transport, ofTransport *atomic.Int64, prepare func() error) (*stream, error) {
	kept, err := keepRequest(r)
	if err != nil {
		return nil, err
	}
	in, err := ss.limits.admit(r, o.Visitor)
	if err != nil {
		return nil, err
	}
	if err := prepare(); err != nil {
		ss.limits.discharge(in)
		return nil, err
	}
	o.Beat = o.Beat || o.auto && over.proof() == proofBeats
	o.Observed = ss.site.observed(kept, o.Visitor)
	o.Identified = presence.IdentifiedAt(r.Context())
	conn, err := ss.connect(r, &o)
	if err != nil {
		ss.limits.discharge(in)
		return nil, err
	}
	ss.open.opened(ofTransport)
	s := ss.newStream(kept, conn, o, over)
	s.admission, s.ofTransport = in, ofTransport
	return s, nil
}

// connect opens the connection of a stream or poll. If this node has no room for a topic, connect refuses it
// like a forbidden one, if the page said partial=1.
func (ss *streams) connect(r *http.Request, o *streamOptions) (*track.Connection, error) {
	if !ss.site.behindProxy(r) {
		o.From = ss.site.address(r)
	}
	if more := len(o.Topics) - 1; more > 0 && !o.Observe && !gate.Pays(r.Context(), more*gate.Joined) {
		return nil, errTooManyRequests()
	}
	conn, err := ss.tracker.Connect(r.Context(), o.ConnectOptions)
	if err != nil {
		return nil, err
	}
	lacks := func(t presence.Topic) bool { return !conn.Has(t) }
	if slices.ContainsFunc(o.Topics, lacks) {
		had := o.Topics
		o.Topics = slices.DeleteFunc(slices.Clone(had), lacks)
		o.Refused = append(slices.Clip(o.Refused), localTopics(slices.DeleteFunc(slices.Clone(had), conn.Has))...)
	}
	return conn, nil
}
