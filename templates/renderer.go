package templates

import (
	"bytes"
	"html/template"
	"io"
	"net/http"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// Funcs returns the functions of this package under their names, to parse views
// with. They only work in views that [Views] or a [Renderer] executes, which
// knows the request.
func Funcs() template.FuncMap { return new(page).funcs() }

// Views executes a site's views with the functions of this package. All methods
// may be called concurrently.
type Views struct {
	original *template.Template // never executed: what was cannot be cloned
	err      error
	kit      *kit
	pages    sync.Pool // of *page
}

// New returns the views, which were parsed with [Funcs] and not executed yet.
// They must not change after it.
func New(views *template.Template, tracker *presence.Tracker, cfg Config) *Views {
	v := &Views{kit: newKit(tracker, cfg)}
	v.original, v.err = views.Clone()
	return v
}

// Execute writes the named view to w, for a request. It writes nothing if it
// returns an error: the view's own, or that the views given to [New] had been
// executed before. It takes what it needs from memory. For topics and last seen that
// are not there it waits for the store, 50 ms in all; the rest is then unknown.
func (v *Views) Execute(w io.Writer, name string, data any, r *http.Request) error {
	var buf bytes.Buffer
	if err := v.execute(&buf, name, data, r); err != nil {
		return err
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// execute runs the view in a clone of its own, since the functions of a
// template can only learn of the request by being bound to it. Clones are kept:
// one costs about as much as parsing the views.
func (v *Views) execute(w io.Writer, name string, data any, r *http.Request) error {
	if v.err != nil {
		return v.err
	}
	p, ok := v.pages.Get().(*page)
	if !ok {
		clone, err := v.original.Clone()
		if err != nil {
			return err
		}
		p = &page{kit: v.kit}
		p.views = clone.Funcs(p.funcs())
	}
	p.begin(name, r)
	err := p.views.ExecuteTemplate(w, name, data)
	p.end()
	v.pages.Put(p)
	return err
}

// A ContextRenderer renders views for a framework whose context C holds the
// request. With echo.Context it is an echo.Renderer.
type ContextRenderer[C interface{ Request() *http.Request }] struct {
	views *Views
}

// Renderer returns what a site gives to its framework:
//
//	e.Renderer = templates.Renderer[echo.Context](views, tracker, templates.Config{})
//
// The views are as for [New].
func Renderer[C interface{ Request() *http.Request }](views *template.Template, tracker *presence.Tracker, cfg Config) *ContextRenderer[C] {
	return &ContextRenderer[C]{New(views, tracker, cfg)}
}

// Render writes the named view to w, which the framework should buffer: part of
// the view may be written before an error.
func (r *ContextRenderer[C]) Render(w io.Writer, name string, data any, c C) error {
	return r.views.execute(w, name, data, c.Request())
}
