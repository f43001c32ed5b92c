package templates

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/internal/viewcache"
	"github.com/rollcall-go/rollcall/presence"
)

//go:embed widget.html
var widgetFile embed.FS

// Funcs returns the functions of this package by name, to parse templates with. They
// work only in templates that [Widgets] or a [Renderer] executes, because they need the
// request; elsewhere they return an error.
func Funcs() template.FuncMap { return new(page).funcs() }

// Widgets shows who is online: in a site's templates, by [Widgets.Execute] or a
// [Renderer], and to the browser, by [Widgets.Handler]. Make it with [New]. All methods
// may be called concurrently.
type Widgets struct {
	tracker *presence.Tracker
	cfg     Config
	prefix  string // of the endpoints, without a slash at the end; "" for the root

	original *template.Template // the site's, never executed; nil: none were given
	pages    sync.Pool          // of *page

	locale   locale
	markup   *template.Template // the templates of widget.html
	assets   *assets
	rendered viewcache.Cache[part, template.HTML]
	seen     *lastSeenCache
	timedOut atomic.Int64 // when a page last waited in vain for the store, Unix nanoseconds
}

// New returns the widgets of a site. It copies the site's templates, which must have
// been parsed with [Funcs]. They may be nil where only [Widgets.Handler] is needed.
//
// The paths of links to the endpoints begin with the tracker's [presence.Config].Prefix.
//
// New returns an error if the templates were executed before, because such templates
// cannot be copied, or if the Config is invalid.
func New(views *template.Template, tracker *presence.Tracker, cfg Config) (*Widgets, error) {
	cfg = cfg.withDefaults()
	ws := &Widgets{
		tracker: tracker,
		cfg:     cfg,
		prefix:  tracker.Config().Prefix,
		locale:  newLocale(cfg.Texts.Lang),
		markup:  template.Must(template.ParseFS(widgetFile, "widget.html")),
		assets:  newAssets(),
		seen:    newLastSeenCache(tracker, cfg.Topic),
	}
	problems := cfg.validate()
	if views != nil {
		var err error
		if ws.original, err = views.Clone(); err != nil {
			problems = errors.Join(problems, fmt.Errorf("templates: the templates cannot be copied: %w", err))
		}
	}
	if problems != nil {
		return nil, problems
	}
	return ws, nil
}

// Execute writes the named template to w, for a request whose context holds the visitor
// (see [presence.ContextWithVisitor]). It writes nothing if it returns an error, which is
// that of the template.
//
// It takes topics and last seen from memory. For those that are not in memory it waits
// for the store, 50 ms for the whole page at most; then they are unknown.
func (ws *Widgets) Execute(w io.Writer, name string, data any, r *http.Request) error {
	var buf bytes.Buffer
	if err := ws.execute(&buf, name, data, r); err != nil {
		return err
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// execute runs the template in a copy of its own: a template's functions can learn of the
// request only by being bound to it. Copies are kept, since one costs about as much as
// parsing the templates.
func (ws *Widgets) execute(w io.Writer, name string, data any, r *http.Request) error {
	if ws.original == nil {
		return errors.New("templates: New was given no templates")
	}
	p, ok := ws.pages.Get().(*page)
	if !ok {
		clone, err := ws.original.Clone()
		if err != nil {
			return err
		}
		p = &page{widgets: ws}
		p.bound = clone.Funcs(p.funcs())
	}
	p.begin(name, r)
	err := p.bound.ExecuteTemplate(w, name, data)
	p.end()
	ws.pages.Put(p)
	return err
}

// render returns one of the templates of widget.html.
func (ws *Widgets) render(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := ws.markup.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}
