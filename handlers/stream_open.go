package handlers

import (
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// openStream opens the stream that a request asks for. The driver closes it.
func (h *Handler) openStream(r *http.Request, o streamOptions, over transport, ofTransport *atomic.Int64) (*stream, error) {
	return h.openStreamAfter(r, o, over, ofTransport, func() error { return nil })
}

// openStreamAfter calls prepare once the stream is admitted, before its user is
// recorded. An error of prepare refuses the stream.
func (h *Handler) openStreamAfter(r *http.Request, o streamOptions, over transport, ofTransport *atomic.Int64, prepare func() error) (*stream, error) {
	kept, err := keepRequest(r)
	if err != nil {
		return nil, err
	}
	in, err := h.limits.admit(r, o.Visitor)
	if err != nil {
		return nil, err
	}
	if err := prepare(); err != nil {
		h.limits.discharge(in)
		return nil, err
	}
	o.Observed = h.site.observed(kept, o.Visitor)
	o.Identified = presence.IdentifiedAt(r.Context())
	conn, err := h.connect(r, &o)
	if err != nil {
		h.limits.discharge(in)
		return nil, err
	}
	h.open.opened(ofTransport)
	s := h.newStream(kept, conn, o, over)
	s.admission, s.ofTransport = in, ofTransport
	return s, nil
}

// connect opens the connection of a stream or poll. Topics for which this node has no room are
// refused like those that the visitor may not see, if the page said partial=1.
func (h *Handler) connect(r *http.Request, o *streamOptions) (*track.Connection, error) {
	if !h.site.behindProxy(r) {
		o.From = h.site.address(r)
	}
	conn, err := h.tracker.Connect(r.Context(), o.ConnectOptions)
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
