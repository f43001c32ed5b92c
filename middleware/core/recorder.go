package core

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

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
		faults:   newFaults(config.Tracker),
		recent:   newRecent(config.Throttle.Milliseconds()),
	}}
	if t := config.Tracker; t != nil {
		cfg := t.Config()
		rec.engine.prefix = cfg.Prefix
		if cfg.Directory != nil {
			rec.engine.people, rec.engine.labels = true, newLabels()
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
	faults     *faults
	recent     *recent    // signed-in visitors without cookies
	crawlers   *recent    // crawlers that were counted lately; nil: crawlers are not counted
	newcomers  *newcomers // nil without a tracker
	labels     *labels    // nil without people
	strangers  strangers
}

// A Visit is one request while the site serves it.
type Visit struct {
	// Request is the request to pass on. Its context holds the visitor.
	Request *http.Request
	// Cookies are what the response is to set. They are nil for most requests.
	Cookies *Cookies

	class   class
	browser string  // of the throttle cookie in the request
	engine  *engine // nil: End has nothing to do
	context *presence.VisitorContext
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
		return Visit{Request: r}
	}
	with := &requestWithVisitor{context: presence.VisitorContext{Context: r.Context(), Identified: time.Now()}}
	if rec.tenant != nil {
		tenant := rec.tenantOf(c)
		if with.context.Visitor.Tenant = tenant; skipped || tenant == presence.NoTenant {
			with.request = *r.WithContext(&with.context)
			return Visit{Request: &with.request}
		}
	}
	signedIn := rec.identified(c, &with.context.Visitor.User)
	if signedIn && rec.engine.people && rec.session != nil {
		with.context.Visitor.Device.ID = rec.sessionOf(c)
	}
	return rec.engine.begin(r, header, with, signedIn, rec.denied(c))
}

// denied reports whether the browser of a request may get no cookie.
func (rec *Recorder[C]) denied(c C) (denied bool) {
	if rec.consent == nil {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			denied = true
			rec.engine.faults.consentPanicked(p)
		}
	}()
	return !rec.consent(c)
}

// begin is Begin for an identified visitor.
func (m *engine) begin(r *http.Request, header http.Header, with *requestWithVisitor, signedIn, denied bool) Visit {
	visitor := &with.context.Visitor
	if signedIn && m.tracker != nil {
		m.tracker.MeetUser()
	}
	v := requestVisit{engine: m, denied: denied, request: r, header: header, class: m.classOf(r), sentCookies: readCookies(r.Header["Cookie"], m.cookieName)}
	v.hides = v.sentCookies.status(r)
	v.enter(visitor, &with.names)
	begun := Visit{Request: &with.request, class: v.class, browser: v.cookie.browser}
	if v.class != viewing && m.tracker != nil {
		presence.ReachMiddleware(r.Context())
		begun.engine, begun.context = m, &with.context
	}
	switch {
	case !signedIn:
		if m.tracker != nil && v.class == viewing && !m.tracker.MetUser() && isPageView(r) {
			m.strangers.see(m.tracker)
		}
		visitor.Guest = v.seeGuest()
	case m.tracker == nil:
	case visitor.User.Hidden:
		v.seeHidden()
	default:
		v.seeUser(visitor)
	}
	if signedIn && m.people && visitor.Device.Kind == "" { // nothing has looked it up yet
		with.engine, with.browser, with.context.Finder = m, v.browser(), with
	}
	if signedIn && v.returned {
		visitor.Browser = v.cookie.browser[:signedLen]
	}
	begun.Cookies = v.setting
	with.request = *r.WithContext(&with.context) // inlined: no other copy is allocated
	return begun
}

// End ends the visit. Call it also if the site's handler panics.
func (v *Visit) End() {
	m := v.engine
	if m == nil {
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

// maxShown bounds what a log shows of a method, which a client chooses.
const maxShown = 20

func shortened(method string) string {
	if len(method) > maxShown {
		return method[:maxShown] + "…"
	}
	return method
}

// A requestWithVisitor is a copy of a request and its context: the one allocation that
// presence costs a page.
type requestWithVisitor struct {
	request http.Request
	context presence.VisitorContext
	names   names

	// For FindDevice, on a site with people.
	engine  *engine
	browser string
}

// identified calls the site's Identify, and reports whether the visitor is a user. After
// a panic or with an invalid user the visitor is a guest.
func (rec *Recorder[C]) identified(c C, user *presence.User) (signedIn bool) {
	defer func() {
		if p := recover(); p != nil {
			rec.engine.faults.identifyPanicked(p)
			signedIn = false
		}
	}()
	found, signedIn := rec.identify(c)
	if !signedIn {
		return false
	}
	if err := found.Validate(); err != nil {
		rec.engine.faults.invalidUser(found.ID, err)
		return false
	}
	*user = found
	return true
}
