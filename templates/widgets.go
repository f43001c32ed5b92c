package templates

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/viewcache"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

//go:embed widget.html
var widgetFile embed.FS

// Widgets shows who is online: in a site's html/template templates, by [Widgets.Execute] or
// a [Renderer]; in any other template language, by [Widgets.Page]; and to the browser, by
// [Widgets.Handler]. Make it with [New]. All methods may be called concurrently.
type Widgets struct {
	tracker *track.Tracker
	source  peopleSource
	feeds   feedSource // nil: the site has none
	cfg     Config
	site    track.Config
	prefix  string // of the endpoints, without a slash at the end; "" for the root

	original   *template.Template // the site's, never executed; nil: none were given
	executions sync.Pool          // of *execution
	buffers    buffers

	locale    locale
	markup    *template.Template // the templates of widget.html
	assets    *assets
	headParts headParts
	words     template.HTML // an attribute: the texts that the script needs for people
	feedParts feedParts

	signalParts signalParts
	standing    func(presence.Topic) []presence.Signal // of the tracker

	rendered viewcache.Cache[part, template.HTML]
	seen     *lastSeenCache
	mistakes minute.Gate // in calls of a Page's methods
	dots     atomic.Int32
	hangs    hangs
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
	cfg = cfg.withDefaults(tracker.Config().Prefix)
	ws := &Widgets{
		tracker: tracker,
		source:  tracker.People(),
		cfg:     cfg,
		site:    tracker.Config(),
		prefix:  tracker.Config().Prefix,
		locale:  newLocale(cfg.Texts.Lang),
		markup:  template.Must(template.ParseFS(widgetFile, "widget.html")),
		seen:    newLastSeenCache(tracker, cfg.Topic),
	}
	texts, err := json.Marshal(cfg.Texts)
	problems := errors.Join(cfg.validate(), err)
	ws.assets = newAssets(cfg.Groups, texts, tracker.Config().Directory != nil, cfg.Feeds != nil)
	if cfg.Feeds != nil {
		ws.feeds = cfg.Feeds
	}
	ws.feedParts = ws.newFeedParts()
	ws.signalParts, ws.standing = ws.newSignalParts(), tracker.Standing
	if ws.headParts, err = ws.newHeadParts(); err != nil {
		problems = errors.Join(problems, err)
	}
	if ws.words, err = newWords(cfg.Texts.People); err != nil {
		problems = errors.Join(problems, err)
	}
	if views != nil {
		if ws.original, err = views.Clone(); err != nil {
			problems = errors.Join(problems, fmt.Errorf("templates: the templates cannot be copied: %w", err))
		}
	}
	if problems != nil {
		return nil, problems
	}
	return ws, nil
}

// render returns one of the templates of widget.html.
func (ws *Widgets) render(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := ws.markup.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}
