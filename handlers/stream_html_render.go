package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/rollcall-go/rollcall/internal/viewcache"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// maxRendering is how many calls of Config.Widget for streams run at a time.
const maxRendering = 16

// A renderer renders the widget for HTML streams, once for a view and a format. Streams that ask for it in the
// meantime share the result. Each rendering has a goroutine, which calls the site's widget. A stream may stop
// waiting for it, but the goroutine keeps its place among maxRendering until the call returns.
type renderer struct {
	tracker *track.Tracker
	site    *siteCode
	places  chan struct{}
	made    viewcache.Cache[htmlFormat, []byte] // messages

	mu   sync.Mutex
	open map[renderKey]*rendering
}

// A renderKey identifies a rendering.
type renderKey struct {
	view     *track.View
	format   htmlFormat
	standing string // the signals in a rendering of typing
}

// keyOf returns the key of a topic's rendering now.
func (n *renderer) keyOf(view *track.View, format htmlFormat) renderKey {
	key := renderKey{view: view, format: format}
	if format.typing {
		for _, s := range n.tracker.Standing(view.Topic) {
			key.standing += fmt.Sprintf("%s\x00%d\x00%s\x00%s\x00", s.Type, s.V, s.From, s.Data)
		}
	}
	return key
}

// A rendering is one call of the widget, under way or done.
type rendering struct {
	done    chan struct{}   // closed after the other fields are set
	message []byte          // nil: the widget was not rendered
	answer  *recordedAnswer // the widget's answer; nil: the widget was not called
}

func newRenderer(tracker *track.Tracker, site *siteCode) *renderer {
	return &renderer{tracker: tracker, site: site, places: make(chan struct{}, maxRendering), open: make(map[renderKey]*rendering)}
}

// errRefused means that the widget has answered with an error status.
var errRefused = errors.New("the widget refuses")

// try renders the widget for each topic, and returns the size of all messages. If that fails, it returns an error and
// the widget's answer, if there is one.
func (n *renderer) try(r *http.Request, topics []presence.Topic, format htmlFormat) (size int, refusal *recordedAnswer, err error) {
	ctx, cancel := siteContext(r.Context())
	defer cancel()
	for _, topic := range topics {
		view, err := n.tracker.View(ctx, topic)
		if err != nil {
			return 0, nil, err
		}
		message, answer := n.message(ctx, view, format)
		switch {
		case message != nil:
			size += len(message)
		case answer != nil:
			return 0, answer, errRefused
		default:
			return 0, nil, again(http.StatusServiceUnavailable, 5, "The widget could not be rendered in time. Try again later.")
		}
	}
	return size, nil, nil
}

// message returns the message of a view, the same for all readers. If the widget fails, it returns the
// widget's answer instead, or nil if there was none in time.
func (n *renderer) message(ctx context.Context, view *track.View, format htmlFormat) ([]byte, *recordedAnswer) {
	message, r := n.render(ctx, n.keyOf(view, format))
	if message != nil {
		return message, nil
	}
	select {
	case <-r.done:
		if r.answer != nil {
			return r.message, r.answer
		}
	case <-ctx.Done():
		if ctx.Err() == context.Canceled { // the client has gone
			return nil, nil
		}
	}
	n.site.counters.unrendered.Add(1)
	n.site.faults.Warn("presence: Config.Widget did not answer in time; the stream goes on without", "topic", view.Topic)
	return nil, nil
}

// render returns the message if it is cached. Otherwise it returns the rendering that is under way, or starts
// one. A rendering leaves n.open only after its message is cached, so none is started twice.
func (n *renderer) render(ctx context.Context, key renderKey) ([]byte, *rendering) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !key.format.typing { // not cached: the signals of a topic seldom repeat
		if message, ok := n.made.Get(key.view, key.format); ok {
			return message, nil
		}
	}
	r := n.open[key]
	if r == nil {
		r = &rendering{done: make(chan struct{})}
		n.open[key] = r
		go n.run(context.WithoutCancel(ctx), key, r)
	}
	return nil, r
}

// run waits for a place, renders, and caches the message.
func (n *renderer) run(ctx context.Context, key renderKey, r *rendering) {
	ctx, cancel := siteContext(ctx)
	defer cancel()
	defer func() {
		n.mu.Lock()
		delete(n.open, key)
		n.mu.Unlock()
		close(r.done)
	}()
	select {
	case n.places <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-n.places }()
	answer := n.callWidget(key.view.Topic, key.format)
	if answer.status == http.StatusOK {
		r.message = appendMessage(nil, key.view.Topic, key.format, answer.body.String())
		if !key.format.typing {
			n.made.Put(key.view, key.format, r.message, len(r.message)+len(key.format.query))
		}
	}
	r.answer = answer
}

// callWidget requests a topic's widget from Config.Widget as an anonymous guest of the topic's
// tenant, because the result is shared by all readers.
func (n *renderer) callWidget(topic presence.Topic, format htmlFormat) (a *recordedAnswer) {
	a = &recordedAnswer{header: make(http.Header)}
	defer func() {
		if recover() != nil { // serveWidget has counted the panic, or the widget aborted its answer
			a = &recordedAnswer{header: make(http.Header), status: http.StatusInternalServerError}
		}
	}()
	query, _ := url.ParseQuery(format.query) // encoded by newHTMLFormat
	query.Set("topic", string(topic.Local()))
	ctx, cancel := siteContext(presence.ContextWithVisitor(context.Background(), presence.Visitor{Tenant: topic.Tenant()}))
	defer cancel()
	err := n.site.serveWidget(a, (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/widget", RawQuery: query.Encode()},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody,
	}).WithContext(ctx))
	if err != nil {
		n.site.faults.explain(err, "widget", presence.Visitor{}).Write(a)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a
}

// A recordedAnswer is an http.ResponseWriter in memory.
type recordedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *recordedAnswer) Header() http.Header         { return a.header }
func (a *recordedAnswer) WriteHeader(status int)      { a.status = status }
func (a *recordedAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }

// copyTo writes the answer to w.
func (a *recordedAnswer) copyTo(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	w.Write(a.body.Bytes())
}
