package handlers

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// maxRendering is how many calls of Config.Widget for streams run at a time.
const maxRendering = 16

// A renderer has the widget rendered for streams as HTML: once for a view and a look,
// for whoever asks meanwhile, and without holding up those who ask for another. The
// goroutine that calls the site's widget may be given up; it keeps its place among
// maxRendering until the call returns.
type renderer struct {
	h    *Handler
	room chan struct{}

	mu   sync.Mutex
	open map[rendered]*rendering
}

// A rendered is what a widget is rendered of.
type rendered struct {
	view *presence.View
	look look
}

// A rendering is under way, or done.
type rendering struct {
	done    chan struct{} // closed when the rest is there
	message []byte        // nil: the widget was not rendered
	answer  *answer       // of the widget; nil: it was not asked
}

func newRenderer(h *Handler) renderer {
	return renderer{h: h, room: make(chan struct{}, maxRendering), open: make(map[rendered]*rendering)}
}

// message returns what all readers of a view are sent. Where there is no such
// message, it returns the widget's answer instead, or nil if there was none in time.
func (n *renderer) message(ctx context.Context, view *presence.View, l look) ([]byte, *answer) {
	if message, ok := n.h.messages.get(view, l); ok {
		return message, nil
	}
	r := n.render(ctx, rendered{view, l})
	select {
	case <-r.done:
		if r.answer != nil {
			return r.message, r.answer
		}
	case <-ctx.Done():
	}
	n.h.counters.unrendered.Add(1)
	n.h.faults.warn(widgetFailed, "presence: Config.Widget did not answer in time; the stream goes on without")
	return nil, nil
}

// render returns the rendering that is under way, or begins one.
func (n *renderer) render(ctx context.Context, what rendered) *rendering {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.open[what]
	if r == nil {
		r = &rendering{done: make(chan struct{})}
		n.open[what] = r
		go n.run(context.WithoutCancel(ctx), what, r)
	}
	return r
}

// run renders, once there is room, and keeps the message for those who come later.
func (n *renderer) run(ctx context.Context, what rendered, r *rendering) {
	ctx, cancel := siteContext(ctx)
	defer cancel()
	defer func() {
		n.mu.Lock()
		delete(n.open, what)
		n.mu.Unlock()
		close(r.done)
	}()
	select {
	case n.room <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-n.room }()
	answer := n.ask(what.view.Topic, what.look)
	if answer.status == http.StatusOK {
		r.message = appendMessage(nil, what.view.Topic, what.look, answer.body.String())
		n.h.messages.put(what.view, what.look, r.message, len(r.message)+len(what.look.query))
	}
	r.answer = answer
}

// ask asks Config.Widget for a topic's widget, as a guest would of whom nothing is
// known: the answer is for all. So nothing of any reader goes with the request.
func (n *renderer) ask(topic presence.Topic, l look) (a *answer) {
	a = &answer{header: make(http.Header)}
	defer func() {
		if recover() != nil { // serveWidget has counted it, or the widget aborts its answer
			a = &answer{header: make(http.Header), status: http.StatusInternalServerError}
		}
	}()
	query, _ := url.ParseQuery(l.query) // encoded by newLook
	query.Set("topic", string(topic))
	ctx, cancel := siteContext(presence.ContextWithVisitor(context.Background(), presence.Visitor{}))
	defer cancel()
	err := n.h.serveWidget(a, (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/widget", RawQuery: query.Encode()},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody,
	}).WithContext(ctx))
	if err != nil {
		n.h.fail(a, err)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a
}

// An answer is kept in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// copyTo answers with it.
func (a *answer) copyTo(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	w.Write(a.body.Bytes())
}
