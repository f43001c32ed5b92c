package handlers

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// liveControl is the Cache-Control of streams and polls. Proxies obey no-transform: they leave out the compression that
// would hold events back.
const liveControl = "no-store, no-transform"

// events streams topics as Server-Sent Events.
func (ss *streams) events(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	run, err := ss.openEvents(w, untimed(r), v)
	if run != nil {
		run() // after openEvents has returned, so that the stream waits on a small stack
	}
	return err
}

// openEvents opens the stream that a request asks for. It returns the function that
// drives the stream in this goroutine, or nil if none is needed.
func (ss *streams) openEvents(w http.ResponseWriter, r *http.Request, v presence.Visitor) (run func(), err error) {
	q := ss.posted(w, r, v)
	options, err := ss.connectOptions(q)
	if err != nil {
		return nil, err
	}
	// A browser that reconnects repeats the URL of its first request, so the header is
	// newer than the parameter.
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		options.Cursor = presence.ReadCursor(id)
	}
	if err := ss.clearDeadline(w, "events", "Streaming"); err != nil {
		return nil, err
	}
	taken := !q.Has("as") && hijackable(r) && hijacks(w) // whether the connection will be taken from net/http, past all writers
	if !taken && !flushes(w) {
		return nil, ss.collected(w, "events", "Streaming")
	}
	if !taken && unknownConn(r) {
		ss.tracker.Found(presence.NoConnContext, "proto", r.Proto)
		options.warn(presence.NoConnContext)
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", liveControl)
	header.Set("X-Accel-Buffering", "no") // nginx
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil, nil
	}
	if q.Has("as") {
		return ss.openHTML(w, r, q.Values, options)
	}
	s, err := ss.openStream(r, options, &sse{as: options.types.form(formSSE)}, &ss.counters.sse)
	if err != nil {
		return nil, err
	}
	if taken {
		s.owed = headStream(header)
		if s.hijack(w) == nil {
			return nil, nil
		}
		s.owed = nil
		if !flushes(w) {
			s.conn.Drop() // the page got no stream, so its user was never there
			s.close()
			return nil, ss.collected(w, "events", "Streaming")
		}
	}
	return func() { s.respond(w, r) }, nil
}

// clearDeadline removes the server's WriteTimeout from a stream. A writer without
// deadlines can neither flush nor be hijacked: it collects the whole answer.
func (ss *streams) clearDeadline(w http.ResponseWriter, endpoint, what string) error {
	err := unbound(w)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, http.ErrNotSupported):
		return ss.collected(lastWriter(w), endpoint, what)
	}
	return collects(what) // another error, such as of a closed connection, is no mistake of the site
}

// streamOptions are the options in a stream's request, and the notes for its client about them.
type streamOptions struct {
	track.ConnectOptions
	notes
	types   *pageTypes // nil: the page does not name any
	partial bool       // leave out the topics that the visitor may not see
	auto    bool       // the server decides whether the page beats
}

// connectOptions returns the options in a stream's request. It returns an error unless the visitor may see
// every topic, or with partial=1 at least one.
func (ss *streams) connectOptions(q *query) (o streamOptions, err error) {
	o.Visitor = q.visitor
	if q.err == nil && q.visitor.SignedIn() {
		ss.tracker.MeetUser()
	}
	o.types = q.types(ss.types)
	if q.mine() != nil {
		return o, q.err
	}
	o.Cursor = q.cursor()
	o.Topics = q.named(ss.tracker.Config().MaxTopicsPerConnection, "topic", "stream")
	o.Limit, o.Window = q.limit(), q.window()
	q.watched(&o)
	o.Observe, o.Idle, o.partial = q.flag("observe"), q.flag("idle"), q.flag("partial")
	o.Beat, o.auto = q.beat()
	nobeat := q.nobeat()
	if q.err != nil {
		return o, q.err
	}
	if !o.Observe && !presence.HasVisitor(q.request.Context()) {
		ss.tracker.Found(presence.NoMiddleware)
		o.warn(presence.NoMiddleware)
	}
	ss.findKeeper(o.Topics, &o.notes)
	if nobeat != 0 {
		ss.tracker.Found(presence.BeatsRefused, "status", nobeat)
		o.Beat, o.auto = false, false
	}
	if !o.Visitor.SignedIn() && ss.site.behindProxy(q.request) {
		o.warn(presence.UnnamedProxy) // the router has reported it
	}
	return o, ss.permitTopics(q, &o)
}

// permitTopics returns an error unless the visitor may see all topics of a stream. With partial=1 one of them
// is enough, and the others are left out.
func (ss *streams) permitTopics(q *query, o *streamOptions) error {
	has := ss.site.follows
	if q.Has("as") {
		has = ss.site.lists // an HTML stream supports only topics with rosters
	} else if err := ss.cfg.followable(q.visitor, o.Topics...); err != nil && !(o.partial && errors.Is(err, presence.ErrGuest)) {
		return err
	}
	if ss.cfg.hasAuthorize {
		gate.Owes(q.request.Context(), len(o.Topics)*gate.Question)
	}
	if !o.partial {
		return ss.site.permit(has, q.request, q.visitor, o.Topics...)
	}
	o.Partial = !q.Has("as") // an HTML stream renders its messages by its topics
	seen, refused := ss.site.part(has, q.request, q.visitor, slices.Clone(o.Topics))
	ss.refuseTopics(q, refused, &o.notes)
	if o.Topics = seen; len(seen) > 0 {
		return nil
	}
	switch {
	case !q.Has("as") && ss.cfg.followable(q.visitor, refused...) != nil:
		return presence.ErrGuest
	case q.Get("me") != "" && !q.visitor.SignedIn():
		return problem.New(http.StatusUnauthorized, "The user of this page has signed out, or a cache gave this visitor the page of another one. Load it again.")
	}
	if len(o.Warnings) > 0 && !q.Has("as") {
		return forbidden(strings.Join(o.Warnings, " "))
	}
	return errForbidden()
}
