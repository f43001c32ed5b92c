package rollcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A Site is presence on one site, in one process. Make it with [New], and end it with
// [Site.Close]. All methods may be called concurrently.
type Site struct {
	logger   *slog.Logger
	base     basePath
	store    backend.Store
	sql      *sqlstore.Store // nil: there are no people and no feeds
	tracker  *track.Tracker
	feeds    *feed.Keeper // nil without sql
	jobs     *jobs.Runner
	widgets  *templates.Widgets
	live     *handlers.Handler
	identify func(http.Handler) http.Handler // nil: New got no identify
	mount    core.Mount
	hasViews bool
	twice    atomic.Bool // a request may pass presence twice

	mu      sync.Mutex
	servers []*http.Server // that are attached

	closeStore func() error       // closes the store once
	stop       context.CancelFunc // ends what runs in background
	background sync.WaitGroup
}

// New makes a Site: a tracker, its jobs, the endpoints, and the widgets; with Config.SQL
// people and notifications too. identify returns the user of a request, from what the site's
// sessions have found, and false for a guest. It is called once for each request. Until a first user has come, it is
// called once more for each page of a guest, to find out whether Wrap is in the wrong place. It is nil where the
// middleware of a framework has the site's identify: see [Site.Mount].
//
// The Site owns Config.Store from now on: Close closes it, and so does New before it returns
// an error. An error that is [presence.ErrInvalidConfig] has every problem at once, and names
// the fields. Others say that the store or the database is unfit. One that is out is no
// error: the site starts, and the log says so.
func New(identify func(*http.Request) (presence.User, bool), config Config) (*Site, error) {
	if isNil(config.Store) {
		config.Store = memstore.New()
	}
	config.Logger = cmp.Or(config.Logger, slog.Default())
	ctx, stop := context.WithCancel(context.Background())
	s := &Site{logger: config.Logger, base: basePath{config.base(), config.prefix() + "/"}, store: config.Store, sql: config.SQL, hasViews: config.Views != nil, stop: stop}
	s.closeStore = sync.OnceValue(func() error {
		if store, ok := s.store.(io.Closer); ok {
			return store.Close()
		}
		return nil
	})
	if err := s.start(ctx, identify, config); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// isNil reports whether there is no store: also for a variable of a store's own type that a
// site has left nil, as where no address of a Redis is set.
func isNil(store backend.Store) bool {
	v := reflect.ValueOf(store)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// start makes the parts. Close ends the parts that were made before an error.
func (s *Site) start(ctx context.Context, identify func(*http.Request) (presence.User, bool), config Config) error {
	parts, problems := config.parts(identify)
	otherNodes := "unknown"
	if problems == nil {
		if err := errors.Join(s.checkStore(ctx), s.prepareSQL(ctx)); err != nil {
			return err
		}
		otherNodes = s.otherNodes(ctx)
	}
	add := func(part string, err error) {
		if err != nil {
			problems = errors.Join(problems, fmt.Errorf("rollcall: Parts.%s: %w", part, err))
		}
	}
	var err error
	if s.tracker, err = track.New(s.store, parts.Track); err != nil {
		add("Track", err)
		s.tracker, _ = track.New(memstore.New(), track.Config{Logger: s.logger}) // to find the problems of the other parts
	}
	if s.sql != nil {
		s.feeds, err = feed.New(s.sql.Feeds(), s.tracker, parts.Feeds)
		add("Feeds", err)
		parts.Handlers.Feeds, parts.Templates.Feeds, parts.Jobs.Feeds = s.feeds, s.feeds, s.feeds
	}
	s.jobs, err = jobs.Start(s.tracker, parts.Jobs)
	add("Jobs", err)
	s.widgets, err = templates.New(config.Views, s.tracker, parts.Templates)
	add("Templates", err)
	parts.Middleware.Tracker = s.tracker
	parts.Middleware.Site = s
	middleware := parts.Middleware
	if identify == nil { // the middleware of the site's framework has it
		middleware.Identify = func(*http.Request) (presence.User, bool) { return presence.User{}, false }
	}
	s.identify, err = nethttp.New(middleware)
	add("Middleware", err)
	if problems != nil {
		return problems
	}
	if identify == nil {
		s.identify = nil
	}
	parts.Handlers.Widget = s.widgets.Handler()
	s.live = handlers.New(s.tracker, parts.Handlers)
	s.mount = core.Mount{Config: parts.Middleware, Paths: slices.Compact([]string{config.prefix(), config.base() + config.prefix()}),
		Endpoints: http.HandlerFunc(s.endpoints), Front: s.front, Restored: s.base.restore, Attach: s.attachFramework}
	if s.hasViews {
		s.mount.Pages = s
	}
	s.logger.Info("presence: ready", "node", s.tracker.Config().Node, "store", nameOf(s.store), "other_nodes", otherNodes, "people", s.tracker.Config().Directory != nil,
		"feeds", s.feeds != nil, "jobs", true, "ttl", s.tracker.Config().TTL)
	return nil
}

// startTime is how long New waits for the store, and for the database.
const startTime = 5 * time.Second

// checkStore returns an error for a store that is unfit.
func (s *Site) checkStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	err := s.store.Check(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = s.store.Check(ctx) // a first connection may take long, by TLS from a busy machine
	}
	if errors.Is(err, presence.ErrStoreOut) {
		s.logger.Warn("presence: the store cannot be reached; pages go on, and presence begins when it is back", "store", nameOf(s.store), "error", err)
		return nil
	}
	return err
}

// otherNodes returns how many nodes share the store before this one does, for the log.
func (s *Site) otherNodes(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	shared, err := s.store.Poll(ctx, backend.Poll{})
	if err != nil {
		return "unknown"
	}
	return strconv.Itoa(shared.Nodes)
}

// nameOf returns what a store calls itself in a log, such as "redis 127.0.0.1:6379".
func nameOf(store backend.Store) string {
	if named, ok := store.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", store)
}

// Tracker returns the engine: who is online, statuses, signals.
func (s *Site) Tracker() *track.Tracker { return s.tracker }

// From returns the Site whose [Site.Wrap], or whose middleware of a framework, a request has passed, by the
// request's context. It is nil where there is none, and for the parts of a site without [New].
func From(ctx context.Context) *Site {
	site, _ := core.SiteFrom(ctx).(*Site)
	return site
}

// Mount returns the parts that the middleware of a framework mounts, in place of [Site.Wrap]. There identify
// is given the framework's context, which has its sessions:
//
//	e.Use(middleware.Presence(e, site, identify)) // Echo 4
//	e.Use(echov5.Presence(e, site, identify))     // Echo 5
//	router.Use(sessions, ginv1.Presence(site, identify))
func (s *Site) Mount() core.Mount {
	s.twice.Store(true) // if there is a Wrap as well
	return s.mount
}

// Handler returns the presence endpoints. [Site.Wrap] has mounted them.
func (s *Site) Handler() *handlers.Handler { return s.live }

// Widgets returns what renders presence in pages.
func (s *Site) Widgets() *templates.Widgets { return s.widgets }

// Feeds returns the inboxes and rooms, nil without Config.SQL.
func (s *Site) Feeds() *feed.Keeper { return s.feeds }
