package core

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Recorder records the visits of a site: the middleware of a framework calls
// [Recorder.Begin] for each request. Make it with [New]. It may be used concurrently.
type Recorder[C any] struct {
	engine   engine
	identify func(C) (presence.User, bool)
	tenant   func(C) string // nil: one site
	skip     func(C) bool   // nil: no request
	session  func(C) string // nil: the browser tells the device
	consent  func(C) bool   // nil: cookies are set
}

// New returns a Recorder. The error is [presence.ErrInvalidConfig] and names every
// invalid field.
func New[C any](config Config[C]) (*Recorder[C], error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	rec := &Recorder[C]{identify: config.Identify, tenant: config.Tenant, skip: config.Skipper, session: config.Session, consent: config.Consent, engine: engine{
		tracker: config.Tracker, topic: config.Topic,
		cookieName: config.CookieName, throttle: config.Throttle.Milliseconds(),
		prefix:   "/presence",
		clientIP: config.ClientIP,
		members:  config.Members,
		secret:   slices.Clone(config.Secret),
		site:     config.Site,
		recent:   newRecent(config.Throttle.Milliseconds()),
	}}
	rec.engine.faults = &minute.Log{To: slog.Default()}
	if t := config.Tracker; t != nil {
		cfg := t.Config()
		rec.engine.faults.To = cfg.Logger
		rec.engine.prefix = cfg.Prefix
		if cfg.Directory != nil {
			rec.engine.people = true
		}
		rec.engine.newcomers = newNewcomers(cfg.Age)
		if cfg.Kind(config.Topic).Bots {
			rec.engine.crawlers = newRecent(config.Throttle.Milliseconds())
		}
		// Load the topic: a cookie throttles only a visitor who is known to be online.
		_, _ = t.View(context.Background(), config.Topic)
	}
	return rec, nil
}

// An engine is what a Recorder is without its framework.
type engine struct {
	tracker    *track.Tracker // nil: nothing is recorded
	topic      presence.Topic
	cookieName string
	throttle   int64                        // milliseconds
	prefix     string                       // of the presence endpoints, without a slash at the end; "": the root
	clientIP   func(r *http.Request) string // nil: by RemoteAddr
	members    bool                         // guests do not count
	people     bool                         // users have devices, because the tracker has a Directory
	secret     []byte                       // for hashes of addresses and user agents; empty: none are kept
	site       any                          // see SiteFrom
	faults     *minute.Log                  // each fault of the site's functions is logged at most once a minute
	recent     *recent                      // signed-in visitors without cookies
	crawlers   *recent                      // crawlers that were counted lately; nil: crawlers are not counted
	newcomers  *newcomers                   // nil without a tracker
	strangers  strangers
}

// A Visit is one request while the site serves it.
type Visit struct {
	// Request is the request to pass on. Its context holds the visitor.
	Request *http.Request
	// Cookies are what the response is to set. They are nil for most requests.
	Cookies *Cookies

	class    class
	browser  string  // of the throttle cookie in the request
	engine   *engine // nil: End has nothing to do
	context  *presence.VisitorContext
	stranger bool // a guest's page view, and nobody was signed in so far
}

// Begin identifies the visitor of a request, and records it if it is a page view. c is
// what the site's Identify is given, and header is that of the response. Begin waits for
// nothing. For a visitor whose cookie throttles it allocates once.
//
// The middleware goes on with Visit.Request, sets Visit.Cookies right before the headers
// of the response are written, and calls [Visit.End] when the request is served.
func (rec *Recorder[C]) Begin(c C, r *http.Request, header http.Header) Visit {
	skipped := rec.skip != nil && rec.skip(c)
	if skipped && rec.tenant == nil {
		return Visit{Request: rec.engine.withSite(r)}
	}
	with := &requestWithVisitor{VisitorContext: presence.VisitorContext{Context: r.Context(), Identified: time.Now()}, engine: &rec.engine}
	if rec.tenant != nil {
		tenant := rec.tenantOf(c)
		if with.Visitor.Tenant = tenant; skipped || tenant == presence.NoTenant {
			with.request = *r.WithContext(with)
			return Visit{Request: &with.request}
		}
	}
	class := rec.engine.classOf(r)
	if !class.identifies() {
		with.Identified = time.Time{}
		return rec.engine.begin(r, class, header, with, false, true)
	}
	signedIn := rec.identified(c, &with.Visitor.User)
	if outer := passOf(r.Context(), rec.engine.tracker); outer != nil {
		rec.engine.tracker.Found(presence.PassedTwice, "path", shortened(r.URL.Path))
		if outer.Visitor.User.ID == with.Visitor.User.ID && outer.Visitor.Tenant == with.Visitor.Tenant {
			return Visit{Request: r}
		}
		outer.undo(header)
	}
	if signedIn && rec.engine.people && rec.session != nil {
		with.Visitor.Device.ID = rec.sessionOf(c)
	}
	return rec.engine.begin(r, class, header, with, signedIn, rec.denied(c))
}

// Recheck identifies the visitor once more after the handler has served a page, if nobody was signed in so
// far. It reports [presence.NoUser] if a guest is a user now: presence then stands before the site's
// sessions. Only a framework whose sessions change c needs it. A page that redirects may have signed the
// visitor in, so it is ignored.
func (rec *Recorder[C]) Recheck(c C, v *Visit, header http.Header) {
	if t := rec.engine.tracker; v.stranger && !t.MetUser() && header["Location"] == nil && rec.identified(c, new(presence.User)) {
		t.Found(presence.NoUser, "cause", "identify finds the user after the page, and not before it")
	}
}

// denied reports whether the browser of a request may get no cookie.
func (rec *Recorder[C]) denied(c C) (denied bool) {
	if rec.consent == nil {
		return false
	}
	denied = true
	defer rec.engine.faults.Guard("presence: Consent of the middleware panicked; the browser gets no cookie")
	return !rec.consent(c)
}

// begin is Begin for an identified visitor.
func (m *engine) begin(r *http.Request, class class, header http.Header, with *requestWithVisitor, signedIn, denied bool) Visit {
	visitor := &with.Visitor
	if signedIn && m.tracker != nil {
		m.tracker.MeetUser()
	}
	v := requestVisit{engine: m, denied: denied, request: r, header: header, class: class, sentCookies: readCookies(r.Header["Cookie"], m.cookieName)}
	v.hides = v.sentCookies.status(r)
	v.enter(visitor, &with.names)
	begun := Visit{Request: &with.request, class: v.class, browser: v.cookie.browser}
	switch {
	case m.tracker == nil:
	case v.class != viewing:
		presence.ReachMiddleware(r.Context())
		begun.engine, begun.context = m, &with.VisitorContext
	case !m.tracker.Streamed() && isNavigation(r) && crawlerName(r.UserAgent()) == "":
		begun.engine, begun.context = m, &with.VisitorContext // to learn what the page shows
	}
	switch {
	case !signedIn:
		if m.tracker != nil && v.class == viewing && !m.tracker.MetUser() && isPageView(r) {
			begun.stranger = true
			v.later().stranger = true
		}
		visitor.Guest = v.seeGuest()
		visitor.Passing = v.passing
	case m.tracker == nil:
	case visitor.User.Hidden:
		v.seeHidden()
	default:
		v.seeUser(visitor)
	}
	if signedIn && m.people && visitor.Device.Kind == "" { // nothing has looked it up yet
		with.browser, with.Finder = v.browser(), with
	}
	if signedIn && v.returned {
		visitor.Browser = v.cookie.browser[:signedLen]
	}
	begun.Cookies, with.cookies = v.setting, v.setting
	with.request = *r.WithContext(with) // inlined: no other copy is allocated
	return begun
}

// End ends the visit. Call it also if the site's handler panics.
func (v *Visit) End() {
	m := v.engine
	if m == nil {
		return
	}
	if v.class == viewing {
		if element, head := v.context.Shown(); element {
			m.tracker.Shown(v.Request.URL.Path, head)
		}
		return
	}
	if visitor := &v.context.Visitor; v.class.expires() && visitor.SignedIn() && !visitor.User.Hidden {
		id := visitor.User.ID.In(visitor.Tenant)
		m.recent.remove(id, m.cookieless(v.Request)) // like a stamp of 0 for visitors with cookies
		if v.browser != "" {
			m.recent.remove(id, v.browser)
		}
	}
	if v.class != changing && !v.context.Reached() && v.Request.Method != http.MethodOptions {
		m.notReached(v.Request)
	}
}

// notReached reports a request for a presence endpoint that the handler did not get.
func (m *engine) notReached(r *http.Request) {
	under, _ := m.endpoint(r.URL.Path)
	switch {
	case !m.isEndpoint(under):
	case under == "/beat", under == "/leave": // pages report refused beats too: it is one mistake
		m.tracker.Found(presence.BeatsRefused, "method", shortened(r.Method))
	default:
		m.tracker.Found(presence.NotReached, "method", shortened(r.Method), "endpoint", strings.SplitAfterN(under, "/", 3)[1], "prefix", m.prefix)
	}
}

// maxShown bounds what a log shows of a method or a path, which a client chooses.
const maxShown = 20

func shortened(text string) string {
	if len(text) > maxShown {
		return text[:maxShown] + "…"
	}
	return text
}

// maxShownID bounds the part of an id that is logged, in bytes: an invalid one may be long.
const maxShownID = 100

func shownID(id string) string {
	if len(id) > maxShownID {
		return id[:maxShownID] + "…"
	}
	return id
}

// identified calls the site's Identify, and reports whether the visitor is a user. After
// a panic or with an invalid user the visitor is a guest.
func (rec *Recorder[C]) identified(c C, user *presence.User) (signedIn bool) {
	defer rec.engine.faults.Guard("presence: identify panicked; the visitor is taken for a guest")
	found, signedIn := rec.identify(c)
	if !signedIn {
		return false
	}
	if err := found.Validate(); err != nil {
		rec.engine.faults.Error("presence: identify returned a user that is not valid; the visitor is taken for a guest",
			"user", shownID(string(found.ID)), "error", err)
		return false
	}
	*user = found
	return true
}
