package main

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A site is the forum, wired.
type site struct {
	*echo.Echo
	log      *slog.Logger // for errors that every request may cause
	tracker  *track.Tracker
	streams  *handlers.Handler
	erasures eraseLimit // by address
	exported eraseLimit // by member
	jobs     *jobs.Runner
	sql      *database    // nil: no settings, contacts, sessions, replies and notifications
	feeds    *feed.Keeper // nil without a database
	marking  sync.WaitGroup
	posts    *posts

	exports    *turnstile
	closeStore func() error

	threads []thread          // the threads with the posts of a new forum
	staff   []presence.UserID // the users who may open /staff
	tenants map[string]bool   // the tenants that a host may name; none: there are no tenants
	style   asset
	icon    asset
}

// newSite returns the forum with its jobs running; close ends them.
func newSite(config config, log *slog.Logger) (*site, error) {
	store, closeStore, err := openStore(config.redis, log)
	if err != nil {
		return nil, err
	}
	database, err := openSQL(config, log)
	if err != nil {
		return nil, err
	}
	tracker, err := track.New(store, track.Config{
		Node: config.node, Secret: config.key(), TTL: config.ttl, NodeTTL: config.nodeTTL, Grace: config.grace, Age: config.age, Logger: log,
		Kinds: kinds, Directory: database.directory(),
	})
	if err != nil {
		return nil, err
	}
	feeds, err := newFeeds(config, database, tracker)
	if err != nil {
		return nil, err
	}
	runner, err := jobs.Start(tracker, jobs.Config{
		Sweep: config.sweep, Feeds: feeds, Mail: config.mail.sender(config.base, feeds),
	})
	if err != nil {
		return nil, err
	}
	s := &site{
		Echo: echo.New(), log: onceAMinute(log), tracker: tracker, jobs: runner, sql: database, feeds: feeds, closeStore: closeStore,
		exports: newTurnstile(),
		threads: threads(), style: newAsset("static/forum.css"), icon: newAsset("static/icon.svg"),
	}
	tenants, _ := parseTenants(config.tenants) // validated with the other flags
	s.tenants = make(map[string]bool, len(tenants))
	for _, tenant := range tenants {
		s.tenants[tenant] = true
	}
	s.posts = newPosts(database, s.threads)
	s.staff, _ = parseStaff(config.staff) // validated with the other flags
	pages := template.Must(template.New("").Funcs(templates.Funcs()).Funcs(funcs).ParseFS(views, "views/*.html"))
	widgets, err := templates.New(pages, tracker, templates.Config{
		Groups: groups, Authorize: s.authorize, Title: s.placeTitle, Link: s.placeLink, Users: usersOf, Feeds: feeds, App: config.app,
		MarkURL: "/notifications", SettingsURL: "/settings", EndSessionURL: "/sessions/{device}/end", // the forum handles these itself
	})
	if err != nil {
		return nil, err
	}
	webhooks, err := newWebhooks(config.webhook, tracker, log)
	if err != nil {
		return nil, err
	}
	webhooks.post(tenants)
	s.HTTPErrorHandler = s.errorPage
	s.IPExtractor = handlers.ForwardedFor(privateNetworks...)

	// Presence: the middleware, the pages that show who is online, and the streams that keep them live.
	s.Use(echomiddleware.Recover(), secureHeaders, middleware.PresenceWithConfig(middleware.Config{
		Tracker: tracker, Identify: s.identify, Tenant: s.tenant, Throttle: config.throttle, Skipper: forMachines, ClientIP: s.IPExtractor,
		Session: sessionID, Secret: config.key(),
	}))
	s.Renderer = templates.RendererFor[echo.Context](widgets)
	s.streams = handlers.New(tracker, handlers.Config{
		Authorize:  s.authorize,
		ClientIP:   s.IPExtractor,
		Widget:     widgets.Handler(),
		EndSession: s.endSession,
		Feeds:      feeds,
		Whispers:   map[string]map[string]handlers.Whisper{"thread": {"typing": {}}},
		App:        config.app,
		Tenant:     s.hostOf,
	})
	s.Pre(s.knownHosts, echo.WrapMiddleware(s.streams.Beats)) // beats need no session
	s.Any("/presence/*", echo.WrapHandler(s.streams))

	// The forum itself.
	read := []string{http.MethodGet, http.MethodHead}
	s.Match(read, "/", s.frontPage)
	s.Match(read, "/threads/:id", s.threadPage)
	s.Match(read, "/online", s.onlinePage)
	s.Match(read, "/online/places", s.placesPage)
	s.Match(read, "/rules", s.rulesPage)
	s.POST("/login", s.login, ownForms, s.limited)
	s.POST("/logout", s.logout, ownForms, s.limited)
	s.POST("/status", s.setStatus, ownForms, s.limited)
	if s.sql != nil {
		s.peopleRoutes()
		s.feedRoutes()
		tracker.AddRecords(records{s})
		s.sql.start(s.endedElsewhere)
	} else {
		for _, path := range []string{"/threads/:id/replies", "/threads/:id/posts/:n/edit"} {
			s.Any(path, func(echo.Context) error { return echo.ErrNotFound })
		}
	}
	s.Any("/staff", echo.WrapHandler(s.staffPage()), s.forStaff)
	s.Any("/staff/*", echo.WrapHandler(s.staffPage()), s.forStaff)
	s.Match(read, s.style.path, s.style.serve)
	s.Match(read, s.icon.path, s.icon.serve)
	s.Match(read, "/metrics", echo.WrapHandler(metricsHandler(tracker, s.streams)), s.forOperators)
	s.Match(read, "/healthz", echo.WrapHandler(s.streams.Health()))
	return s, nil
}

// forMachines reports whether a request is for a URL that only programs read.
func forMachines(c echo.Context) bool {
	path := c.Request().URL.Path
	return path == "/metrics" || path == "/healthz"
}

// kinds says what the store keeps of topics, beyond who is online.
var kinds = map[string]presence.Kind{
	"site":   {Peak: true, Bots: true, Recent: 10_000},
	"thread": {Peak: true, PeakGuests: true, Active: true}, // Active costs the site a diff a minute for each user, and threads none: page views are recorded in the site
	"rules":  {CountOnly: true},                            // nobody should see who reads the rules
}

// authorize says who may see a topic. Everybody may see the topics of the site, of each thread and its posts,
// and of the rules. Members may also see the topics of the editors of each post. Nobody may see any other
// topic.
func (s *site) authorize(r *http.Request, v presence.Visitor, topic presence.Topic) bool {
	if t, n, ok := s.editAt(topic); ok {
		return v.SignedIn() && s.feeds != nil && s.posts.has(r.Context(), v.Tenant, t.ID, n)
	}
	if t, ok := s.threadOf(topic); ok && topic == t.Topic() {
		return true
	}
	_, isPosts := s.threadOf(presence.Topic(strings.TrimPrefix(string(topic), "feed:")))
	return topic == presence.Site || topic == rulesTopic || isPosts && s.feeds != nil
}

// placeTitle returns a topic's title in the list of places.
func (s *site) placeTitle(_ context.Context, topic presence.Topic) string {
	if topic == rulesTopic {
		return "The rules"
	}
	if t, _, ok := s.editAt(topic); ok {
		return fmt.Sprintf("Editing in “%s”", t.Title)
	}
	t, _ := s.threadOf(topic)
	return t.Title
}

// placeLink returns the address of a place.
func (s *site) placeLink(_ context.Context, topic presence.Topic) string {
	if topic == rulesTopic {
		return "/rules"
	}
	if t, n, ok := s.editAt(topic); ok {
		return t.EditURL(n)
	}
	if t, ok := s.threadOf(topic); ok {
		return t.URL()
	}
	return ""
}

func (s *site) threadOf(topic presence.Topic) (thread, bool) {
	for _, t := range s.threads {
		if t.Topic() == topic {
			return t, true
		}
	}
	return thread{}, false
}

// close drains the site, and closes the database and the store.
func (s *site) close(ctx context.Context) error {
	return errors.Join(s.drain(ctx), s.release())
}

// release closes the database and the store. Call it after the last request.
func (s *site) release() error { return errors.Join(s.sql.close(), s.closeStore()) }

// drain ends the jobs and the streams, and writes data that was not written yet.
func (s *site) drain(ctx context.Context) error {
	s.jobs.Stop()
	err := errors.Join(s.tracker.Close(ctx), s.streams.Wait(ctx))
	s.marking.Wait()
	if s.feeds != nil {
		err = errors.Join(err, s.feeds.Close(ctx))
	}
	return err
}

// privateNetworks are those in which the forum trusts proxies, as in compose.yaml. Behind a proxy every request
// comes from the proxy's address, and the address of the visitor is in X-Forwarded-For. A visitor from elsewhere
// cannot make up an address. On an intranet visitors have private addresses too: there, name only those of the
// proxies.
var privateNetworks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"),
}
