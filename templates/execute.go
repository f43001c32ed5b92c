package templates

import (
	"bytes"
	"errors"
	"html/template"
	"io"
	"net/http"
	"sync"
)

// errUnbound is returned by the functions of Funcs, which have no request.
var errUnbound = errors.New("templates: the template must be executed by Widgets.Execute or templates.RendererFor, or, " +
	"by an engine of your own, with the functions of the request: a clone's Funcs(widgets.Page(r).Funcs())")

// Funcs returns the functions of this package by name, to parse templates with. They
// work only in templates that [Widgets] or a [Renderer] executes, because they need the
// request; elsewhere they return an error.
func Funcs() template.FuncMap {
	all := new(Page).funcs()
	for name := range all {
		all[name] = func(...any) (string, error) { return "", errUnbound }
	}
	return all
}

func (p *Page) funcs() template.FuncMap {
	return template.FuncMap{
		"presenceHead":   p.rosters.head,
		"presenceStyle":  p.rosters.style,
		"whosOnline":     p.rosters.whosOnline,
		"onlineDot":      p.rosters.onlineDot,
		"presenceAvatar": p.workshop.avatar,
		"isOnline":       p.rosters.isOnline,
		"lastSeen":       p.marked.lastSeen,
		"prefetchSeen":   p.marked.prefetchSeen,
		"onlineCount":    p.marked.onlineCount,
		"onlineTotal":    p.marked.onlineTotal,
		"prefetchCounts": p.marked.prefetchCountsOf,
		"recentlyActive": p.parts.recentlyActive,
		"mostOnline":     p.parts.mostOnline,
		"where":          p.parts.where,
		"legend":         func() template.HTML { return p.workshop.legend() },
		"contacts":       p.people.contacts,
		"person":         p.people.person,
		"contact":        p.people.contact,
		"sessions":       p.people.sessions,
		"settings":       p.people.settings,
		"bell":           p.feeds.bell,
		"notifications":  p.feeds.notifications,
		"room":           p.feeds.room,
		"typing":         p.rosters.typing,
		"editors":        p.rosters.editors,
	}
}

// An execution executes the site's templates for one request at a time.
type execution struct {
	page    Page
	bound   *template.Template // a copy of the site's templates, with the functions of page
	markers markers
}

// Execute writes the named template to w, for a request whose context holds the visitor
// (see [presence.ContextWithVisitor]). It writes the page in one piece, and nothing if the
// template has an error. It returns the error of the template or of w.
//
// It takes topics and times of last seen from memory. For those that are not in memory it waits
// for the store, at most 50 ms for the whole page. After that they are unknown.
func (ws *Widgets) Execute(w io.Writer, name string, data any, r *http.Request) error {
	if ws.original == nil {
		return errors.New("templates: New was given no templates")
	}
	if r == nil {
		return errors.New("templates: Execute needs the request, whose context holds the visitor")
	}
	out := ws.buffers.get()
	defer ws.buffers.put(out)
	if err := ws.execute(out, name, data, r); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// execute runs the named template in a copy of the site's templates. The copy has functions of its
// own, because that is the only way in which template functions can get the request. Copies are
// kept for later requests, since a copy costs about as much as parsing the templates.
func (ws *Widgets) execute(out *bytes.Buffer, name string, data any, r *http.Request) error {
	e, ok := ws.executions.Get().(*execution)
	if !ok {
		clone, err := ws.original.Clone()
		if err != nil {
			return err
		}
		e = new(execution)
		e.page.init(ws.workshop)
		e.bound = clone.Funcs(e.page.funcs())
		e.end()
	}
	e.page.begin(r)
	err := e.bound.ExecuteTemplate(out, name, data)
	if err == nil {
		e.page.fillName(out)
		e.page.marked.fillMarkers(out)
	}
	e.end()
	ws.executions.Put(e)
	return err
}

// end makes an execution ready for another request. It keeps the allocated memory of the lists.
func (e *execution) end() {
	p, ws := &e.page, e.page.workshop
	topics, first, people := emptied(p.topics), emptied(p.first), emptied(p.people.shown)
	*p = Page{}
	p.init(ws)
	p.topics, p.first, p.people.shown = topics, first, people
	e.markers.reset()
	p.buffered, p.marked.markers = true, &e.markers
}

func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// maxKeptBuffer is the largest capacity, in bytes, of a buffer that is kept for another page.
const maxKeptBuffer = 256 << 10

// buffers has the buffers that are kept for other pages.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *bytes.Buffer {
	if buf, ok := b.pool.Get().(*bytes.Buffer); ok {
		return buf
	}
	return new(bytes.Buffer)
}

func (b *buffers) put(buf *bytes.Buffer) {
	if buf.Cap() <= maxKeptBuffer {
		buf.Reset()
		b.pool.Put(buf)
	}
}
