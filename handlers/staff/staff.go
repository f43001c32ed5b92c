// Package staff is a page for the staff of a site. It shows who is online, including invisible users, with what
// holds each user, such as two pages at a node. Staff can disconnect a user, close a user's pages at one
// node, or reset the record of a topic. The page also shows the state of the store, and the latest acts
// of staff.
//
// The page is rendered by the server and works without script. With script, the site's own stream keeps it
// current. Nobody may open the page until the site sets [Config.Allow].
//
//	page := staff.New(tracker, staff.Config{
//		Allow: func(r *http.Request, v presence.Visitor) bool { return v.User.ID == "alice" },
//	})
//	mux.Handle("/staff", presenceMiddleware(page))
//	mux.Handle("/staff/", presenceMiddleware(page))
package staff

import (
	"cmp"
	"context"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Config configures a page. The zero value is a page that nobody may open.
type Config struct {
	// Allow reports whether a visitor may open the page and act on it. The visitor comes
	// from the presence middleware, so mount the page behind that. Allow is called for each
	// request, and may be called concurrently. A panic counts as false. Default: nobody may.
	Allow func(r *http.Request, v presence.Visitor) bool

	// Path is where the site mounts the page. Default: "/staff".
	Path string

	// Title returns the title of a topic, such as a thread's. It gets no request, so a tenant's topic comes
	// with its tenant: see [presence.Topic.Tenant] and Local.
	// Default: the topic, without its tenant.
	Title func(t presence.Topic) string

	// OnDisconnect ends the site's own session of a user whom staff disconnects. Without it, the user's pages
	// connect again after Bar. The user has the id that the site knows. ctx has the member of staff, who is of
	// the same tenant ([presence.VisitorFromContext]). OnDisconnect is called before anything else. If it
	// returns an error, the user is not disconnected, and the answer is 503. Default: the session stays.
	OnDisconnect func(ctx context.Context, user presence.UserID) error

	// Bar is how long a disconnected user may not come back, at most [track.MaxBar].
	// Default: 1 min; negative: the user may come back at once.
	Bar time.Duration

	// CrossOrigin decides which pages of other origins may send the page's forms. Default:
	// none.
	CrossOrigin *http.CrossOriginProtection
}

// A Page is the page as an [http.Handler]. It may serve concurrently.
type Page struct {
	tracker *track.Tracker
	cfg     Config
}

// New returns the page over a tracker.
func New(tracker *track.Tracker, cfg Config) *Page {
	cfg.Path = strings.TrimSuffix("/"+strings.Trim(cmp.Or(cfg.Path, "/staff"), "/"), "/") // "": mounted at the root
	cfg.Bar = max(cmp.Or(cfg.Bar, time.Minute), 0)
	if cfg.Title == nil {
		cfg.Title = func(t presence.Topic) string { return string(t.Local()) }
	}
	if cfg.CrossOrigin == nil {
		cfg.CrossOrigin = http.NewCrossOriginProtection()
	}
	return &Page{tracker, cfg}
}

//go:embed page.html staff.css staff.js staff.svg
var files embed.FS

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{"ago": ago, "round": round}).ParseFS(files, "page.html"))

// ServeHTTP implements [http.Handler]: GET shows the page, POST acts.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Frame-Options", "DENY") // another site's page could frame this one, and trick staff into a click
	v := presence.VisitorFromContext(r.Context())
	switch {
	case !presence.ValidTenant(v.Tenant):
		problem.New(http.StatusForbidden, "There is no such site here.").Write(w)
	case !v.SignedIn() && !p.allows(r, v):
		problem.New(http.StatusUnauthorized, "Sign in as a member of staff.").Write(w)
	case !p.allows(r, v):
		problem.New(http.StatusForbidden, "This page is for the site's staff. The site's staff.Config.Allow decides who that is.").Write(w)
	case r.Method == http.MethodPost:
		p.act(w, r, v.Inside())
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		problem.New(http.StatusMethodNotAllowed, "This path accepts GET, HEAD, POST.").With("Allow", "GET, HEAD, POST").Write(w)
	default:
		p.get(w, r, v.Inside())
	}
}

// allows calls Config.Allow. After a panic it returns false.
func (p *Page) allows(r *http.Request, v presence.Visitor) (ok bool) {
	defer func() {
		if panicked := recover(); panicked != nil {
			ok = false
			p.tracker.Config().Logger.Error("presence: staff.Config.Allow panicked; nobody may open the page", "panic", panicked)
		}
	}()
	return p.cfg.Allow != nil && p.cfg.Allow(r, v)
}

// get serves the page and its files. The page shows only the visitor's tenant.
func (p *Page) get(w http.ResponseWriter, r *http.Request, v presence.Visitor) {
	switch r.URL.Path {
	case p.cfg.Path, p.cfg.Path + "/":
		p.show(w, r, v.Tenant)
	case p.cfg.Path + "/staff.css", p.cfg.Path + "/staff.js", p.cfg.Path + "/staff.svg":
		http.ServeFileFS(w, r, files, strings.TrimPrefix(r.URL.Path, p.cfg.Path+"/"))
	default:
		problem.New(http.StatusNotFound, "There is nothing at this path.").Write(w)
	}
}
