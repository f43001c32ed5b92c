package templates

import (
	"bytes"
	"errors"
	"html/template"
	"io"
	"net/http"
	"strings"
	"sync"
)

// errUnbound is what the functions of Funcs return.
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
		"presenceHead":   p.head,
		"presenceStyle":  p.style,
		"whosOnline":     p.whosOnline,
		"onlineDot":      p.onlineDot,
		"presenceAvatar": p.avatar,
		"isOnline":       p.isOnline,
		"lastSeen":       p.lastSeen,
		"prefetchSeen":   p.prefetchSeen,
		"onlineCount":    p.onlineCount,
		"onlineTotal":    p.onlineTotal,
		"prefetchCounts": p.prefetchCountsOf,
		"recentlyActive": p.recentlyActive,
		"mostOnline":     p.mostOnline,
		"where":          p.where,
		"legend":         p.legend,
		"contacts":       p.contacts,
		"person":         p.person,
		"contact":        p.contact,
		"sessions":       p.sessions,
		"settings":       p.settings,
		"bell":           p.bell,
		"notifications":  p.notifications,
		"room":           p.room,
		"typing":         p.typing,
		"editors":        p.editors,
	}
}

// An execution executes the site's templates for one request at a time.
type execution struct {
	page    Page
	bound   *template.Template // a copy of the site's templates, whose functions are those of page
	markers markers
}

// Execute writes the named template to w, for a request whose context holds the visitor
// (see [presence.ContextWithVisitor]). It writes the page in one piece, and nothing if the
// template has an error. It returns the error of the template or of w.
//
// It takes topics and last seen from memory. For those that are not in memory it waits
// for the store, 50 ms for the whole page at most; then they are unknown.
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

// execute runs the template in a copy of its own: a template's functions can learn of the
// request only by being bound to it. Copies are kept, since one costs about as much as
// parsing the templates.
func (ws *Widgets) execute(out *bytes.Buffer, name string, data any, r *http.Request) error {
	e, ok := ws.executions.Get().(*execution)
	if !ok {
		clone, err := ws.original.Clone()
		if err != nil {
			return err
		}
		e = &execution{page: Page{widgets: ws}}
		e.page.markers = &e.markers
		e.bound = clone.Funcs(e.page.funcs())
	}
	e.page.begin(r)
	err := e.bound.ExecuteTemplate(out, name, data)
	if err == nil {
		e.page.fillName(out)
		e.page.fillMarkers(out)
	}
	e.end()
	ws.executions.Put(e)
	return err
}

// fillName names the visitor at the first element of the page. An element may be missing,
// because html/template has escaped it in an attribute or a script; then it is the first of
// another kind, or else a later one of the same kind.
func (p *Page) fillName(out *bytes.Buffer) {
	for _, tag := range p.first {
		if at := indexTag(out.Bytes(), []byte(tag)); at >= 0 {
			p.insertName(out, at+len(tag)-len(">"))
			return
		}
	}
	for _, tag := range p.first {
		at := indexTag(out.Bytes(), []byte(opening(tag)))
		if at < 0 {
			continue
		}
		if end := bytes.IndexByte(out.Bytes()[at:], '>'); end >= 0 {
			p.insertName(out, at+end)
			return
		}
	}
}

// opening returns what the start tags of all elements of a kind begin with.
func opening(tag template.HTML) template.HTML {
	for _, first := range [...]string{` data-presence-dot="`, ` data-presence-seen="`, ` topic="`} {
		if before, _, found := strings.Cut(string(tag), first); found {
			return template.HTML(before + first)
		}
	}
	return tag
}

func (p *Page) insertName(out *bytes.Buffer, at int) {
	name := p.name()
	out.WriteString(string(name)) // makes room
	page := out.Bytes()
	copy(page[at+len(name):], page[at:])
	copy(page[at:], name)
}

// indexTag returns where a start tag is in a page, or -1. It looks for the name first: a
// short text is found fast.
func indexTag(page, tag []byte) int {
	name := tag[:bytes.IndexByte(tag, ' ')+1]
	for at := 0; ; at += len(name) {
		i := bytes.Index(page[at:], name)
		if i < 0 {
			return -1
		}
		at += i
		if bytes.HasPrefix(page[at:], tag) {
			return at
		}
	}
}

// end makes an execution ready for another request.
func (e *execution) end() {
	clear(e.page.topics)
	clear(e.page.first)
	clear(e.page.people)
	e.page = Page{widgets: e.page.widgets, topics: e.page.topics[:0], first: e.page.first[:0], people: e.page.people[:0], markers: &e.markers}
	e.markers.reset()
}

// maxKeptBuffer is how many bytes a buffer may have to be kept for another page.
const maxKeptBuffer = 256 << 10

// buffers are kept from page to page.
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
