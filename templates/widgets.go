package templates

import (
	"errors"
	"fmt"
	"html/template"
	"sync"

	"github.com/rollcall-go/rollcall/presence/track"
)

// Widgets shows who is online: in a site's html/template templates, by [Widgets.Execute] or
// a [Renderer]; in any other template language, by [Widgets.Page]; and to the browser, by
// [Widgets.Handler]. Make it with [New]. All methods may be called concurrently.
type Widgets struct {
	*workshop
	original   *template.Template // the site's, never executed; nil: none were given
	executions sync.Pool          // of *execution
}

// New returns the widgets of a site. It copies the site's templates, which must have
// been parsed with [Funcs]. They may be nil if the site has no html/template: then
// [Widgets.Page] and [Widgets.Handler] work, and Execute returns an error.
//
// The paths of links to the endpoints begin with the tracker's [track.Config].Prefix.
//
// New returns an error if the templates were executed before, because such templates
// cannot be copied, or if the Config is invalid.
func New(views *template.Template, tracker *track.Tracker, cfg Config) (*Widgets, error) {
	shop, problems := newWorkshop(tracker, cfg)
	ws := &Widgets{workshop: shop}
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
