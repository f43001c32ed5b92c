package rollcall

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// Config configures a [Site]. The zero value is usable; each field states its default. The
// site's functions may be called concurrently.
type Config struct {
	// Views are the site's templates, parsed with [Funcs], for [Site.Render] and
	// [Site.Execute]. Default: none; a site with another engine uses [Site.Page].
	Views *template.Template

	// Store is what the processes of the site share, such as what redisstore.Open returned.
	// New checks that the store is fit, and [Site.Close] closes it, if it is an io.Closer. A
	// store that is out is no error: presence begins when it is back.
	// Default, also for a nil *redisstore.Store: the memory of this process, which is right for
	// a site of one process.
	Store backend.Store

	// SQL keeps people (settings, contacts, devices, last seen) and notifications in the site's
	// database. New makes the tables that are missing, by [sqlstore.Store.Migrate]. The
	// *sql.DB stays the site's: close it after the Site. A database that is out is no error.
	// Default: there are no people and no notifications.
	SQL *sqlstore.Store

	// Members is for a site of members: guests see nothing of presence, get no cookie, and are
	// not counted. A login wall may stand before or behind [Site.Wrap]. Let the presence
	// endpoints pass it, since a page whose session has ended asks there what it may show.
	// Default: guests see [presence.Site], and count.
	Members bool

	// Authorize reports whether a visitor may see a topic, such as "thread:42". It is asked
	// about each topic of each open page four times a minute, so it should be cheap:
	// [handlers.Config].Authorize says more.
	// With Members it is asked about users alone.
	// Default: everybody may see [presence.Site], and nobody any other topic.
	Authorize func(r *http.Request, v presence.Visitor, t presence.Topic) bool

	// ClientIP returns the address of the client that sent a request. A site behind a proxy
	// sets it, such as to [handlers.ForwardedFor](): else all guests share the address of the
	// proxy, and its limits. Default: the other end of the connection.
	ClientIP func(*http.Request) string

	// Prefix is the path of the presence endpoints, below BasePath. On a site with a route such as
	// "/:user" choose one that is no user's, such as "/-/presence". Default: "/presence".
	Prefix string

	// BasePath is the path under which visitors find the site, such as "/reader". Requests may
	// have it in their paths, or come without, as from http.StripPrefix or from a proxy that
	// takes it off. Default: the root.
	BasePath string

	// Tenant returns the name of the site that a request is for, where several sites share one
	// process or one store: [nethttp.Config].Tenant says more. Default: there is one site.
	Tenant func(*http.Request) string

	// App names the build of the site, such as "4.13.0". A page of another build learns that
	// it is outdated. Default: pages learn nothing.
	App string

	// Secret signs what pages and browsers carry around, and hashes the addresses of devices.
	// It has 16 to 64 bytes, and is the same in each process.
	// Default: a random one that the store keeps; nothing of an address is kept.
	Secret []byte

	// CSRF returns the hidden field that the site's own forms have, for the forms of the
	// widgets: html/template's own HTML. A site needs it whose CSRF check stands before
	// [Site.Wrap]. Default: none; the endpoints, which answer the forms, check their origin.
	CSRF func(*http.Request) template.HTML

	// Logger takes the few lines that somebody can act on. Default: slog.Default().
	Logger *slog.Logger

	// Parts has the settings that concern one part alone.
	Parts Parts
}

// Parts are the settings of the parts of which New makes a [Site]. A setting that several
// parts share is a field of [Config]. To set it here, too, is an error.
type Parts struct {
	Track      track.Config
	Middleware nethttp.Config
	Handlers   handlers.Config
	Templates  templates.Config
	Jobs       jobs.Config
	Feeds      feed.Config // used if there is Config.SQL
}

// parts returns the settings of each part, and every problem that can be found before the parts are made. New
// then adds the settings that one part takes from another.
func (c Config) parts(identify func(*http.Request) (presence.User, bool)) (Parts, error) {
	p := c.Parts
	problems := c.problems()
	p.Track.Prefix = c.base() + c.prefix()
	if p.Templates.NotificationsURL == "" {
		p.Templates.NotificationsURL = c.base() + "/notifications"
	}
	if p.Handlers.EndSession != nil && p.Templates.EndSessionURL == "" {
		p.Templates.EndSessionURL = p.Track.Prefix + "/form/session/{device}"
	}
	p.Track.Secret, p.Middleware.Secret = c.Secret, c.Secret
	p.Track.Logger = c.Logger
	p.Templates.Fields = c.CSRF
	if c.SQL != nil {
		p.Track.Directory, p.Handlers.Contacts = c.SQL.People(), c.SQL.People()
	}
	p.Middleware.Identify = identify
	p.Middleware.Tenant, p.Handlers.Tenant = c.Tenant, c.Tenant
	p.Middleware.ClientIP, p.Handlers.ClientIP = c.ClientIP, c.ClientIP
	p.Handlers.Authorize, p.Templates.Authorize = c.Authorize, c.Authorize
	if c.Members {
		p.Handlers.Authorize = membersOnly(c.Authorize)
		p.Middleware.Members, p.Templates.Members = true, true // pages of guests ask about no topic
	}
	p.Handlers.App, p.Templates.App = c.App, c.App
	p.Templates.Topic = p.Middleware.Topic
	return p, errors.Join(problems...)
}

// base returns the base path, without a slash at its end: "" for the root.
func (c Config) base() string { return strings.TrimSuffix(path.Clean("/"+c.BasePath), "/") }

// prefix returns the path of the endpoints below the base path.
func (c Config) prefix() string { return path.Clean("/" + cmp.Or(c.Prefix, "presence")) }

// membersOnly returns an Authorize function that refuses guests and asks authorize about users. If authorize
// is nil, users may see presence.Site.
func membersOnly(authorize func(*http.Request, presence.Visitor, presence.Topic) bool) func(*http.Request, presence.Visitor, presence.Topic) bool {
	return func(r *http.Request, v presence.Visitor, t presence.Topic) bool {
		if authorize == nil {
			return v.SignedIn() && t == presence.Site
		}
		return v.SignedIn() && authorize(r, v, t)
	}
}

// problems returns what is wrong with the fields of Config that belong to no single part.
func (c Config) problems() (problems []error) {
	bad := func(field, why string) {
		problems = append(problems, fmt.Errorf("%w: %s %s", presence.ErrInvalidConfig, field, why))
	}
	if c.prefix() == "/" {
		bad("Prefix", "is the root, where the site's own pages are")
	}
	p := c.Parts
	for _, twice := range []struct {
		field   string
		isSet   bool
		instead string
	}{
		{"Parts.Track.Prefix", p.Track.Prefix != "", "Prefix"},
		{"Parts.Track.Secret", p.Track.Secret != nil, "Secret"},
		{"Parts.Track.Logger", p.Track.Logger != nil, "Logger"},
		{"Parts.Track.Directory", p.Track.Directory != nil && c.SQL != nil, "SQL"},
		{"Parts.Middleware.Tracker", p.Middleware.Tracker != nil, "Parts.Track"},
		{"Parts.Middleware.Identify", p.Middleware.Identify != nil, "the argument identify"},
		{"Parts.Middleware.Tenant", p.Middleware.Tenant != nil, "Tenant"},
		{"Parts.Middleware.ClientIP", p.Middleware.ClientIP != nil, "ClientIP"},
		{"Parts.Middleware.Members", p.Middleware.Members, "Members"},
		{"Parts.Middleware.Site", p.Middleware.Site != nil, "nothing there"},
		{"Parts.Middleware.Secret", p.Middleware.Secret != nil, "Secret"},
		{"Parts.Handlers.Authorize", p.Handlers.Authorize != nil, "Authorize"},
		{"Parts.Handlers.Widget", p.Handlers.Widget != nil, "Parts.Templates"},
		{"Parts.Handlers.Feeds", p.Handlers.Feeds != nil, "SQL"},
		{"Parts.Handlers.Contacts", p.Handlers.Contacts != nil && c.SQL != nil, "SQL"},
		{"Parts.Handlers.App", p.Handlers.App != "", "App"},
		{"Parts.Handlers.ClientIP", p.Handlers.ClientIP != nil, "ClientIP"},
		{"Parts.Handlers.Tenant", p.Handlers.Tenant != nil, "Tenant"},
		{"Parts.Templates.Topic", p.Templates.Topic != "", "Parts.Middleware.Topic"},
		{"Parts.Templates.Authorize", p.Templates.Authorize != nil, "Authorize"},
		{"Parts.Templates.Members", p.Templates.Members, "Members"},
		{"Parts.Templates.Feeds", p.Templates.Feeds != nil, "SQL"},
		{"Parts.Templates.Fields", p.Templates.Fields != nil, "CSRF"},
		{"Parts.Templates.App", p.Templates.App != "", "App"},
		{"Parts.Jobs.Feeds", p.Jobs.Feeds != nil, "SQL"},
	} {
		if twice.isSet {
			bad(twice.field, "is for several parts: set "+twice.instead)
		}
	}
	return problems
}
