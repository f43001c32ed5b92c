package templates

import (
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/internal/authz"
	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/lastseen"
	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/viewcache"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

//go:embed widget.html
var widgetFile embed.FS

// A workshop renders the elements of all pages. It has the texts and the looks, and the sources of
// what the elements show. All methods may be called concurrently.
type workshop struct {
	tracker *track.Tracker
	source  peopleSource
	feeds   feedSource // nil: the site has none
	cfg     Config
	site    track.Config
	prefix  string // of the endpoints, without a slash at the end; "" for the root

	locale    locale
	markup    *template.Template // the templates of widget.html
	assets    *assets
	headParts headParts
	words     template.HTML // an attribute: the texts that the script needs for people
	feedParts feedParts

	signalParts signalParts
	standing    func(presence.Topic) []presence.Signal // Tracker.Standing

	rendered viewcache.Cache[options, template.HTML] // widgets of pages
	lists    viewcache.Cache[int, *peopleList]       // the items of users, by size
	rights   *authz.Rights                           // Config.Authorize
	seen     *lastseen.Cache
	buffers  buffers
	mistakes minute.Gate  // bounds how often mistakes of the site's code are logged
	dots     atomic.Int32 // how many dots noteDot has looked at
	hangs    hangs
}

// newWorkshop returns the workshop of a site, and every problem of its Config at once.
func newWorkshop(tracker *track.Tracker, cfg Config) (*workshop, error) {
	cfg = cfg.withDefaults(tracker.Config().Prefix)
	ws := &workshop{
		tracker: tracker,
		source:  tracker.People(),
		cfg:     cfg,
		site:    tracker.Config(),
		prefix:  tracker.Config().Prefix,
		locale:  newLocale(cfg.Texts.Lang),
		markup:  template.Must(template.ParseFS(widgetFile, "widget.html")),
		seen:    lastseen.New(tracker, cfg.Topic),
		rights: authz.NewRights(func(r *http.Request, v presence.Visitor, t presence.Topic) bool {
			return cfg.Authorize(r, v.Outside(), t.Local())
		}, gate.Question),
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
	people := cfg.Texts.People
	ws.words = wordsOf(map[string]any{"seen": people.LastSeen, "mobile": people.Phone, "tablet": people.Tablet, "online": people.Online})
	return ws, problems
}

// render executes one of the templates of widget.html.
func (ws *workshop) render(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := ws.markup.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}
