// Nethttp imitates a site without a framework: http.ServeMux, pages of gomponents, sessions
// of scs, nosurf against forged forms, and htmx 4 that loads pages without loading the
// document.
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/justinas/nosurf"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/rollcall-go/rollcall/examples/internal/sites/site"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

func main() { site.Main(wire) }

// app is the site.
type app struct {
	*site.Site
	sessions *scs.SessionManager
	widgets  *templates.Widgets
}

// A middleware is one of net/http.
type middleware = func(http.Handler) http.Handler

func wire(s *site.Site) (http.Handler, error) {
	a := &app{Site: s, sessions: scs.New()}
	a.sessions.Store = files{s.State}
	var err error
	if a.widgets, err = templates.New(nil, s.Tracker, templates.Config{}); err != nil {
		return nil, err
	}
	whosOnline := nethttp.PresenceWithConfig(nethttp.Config{Tracker: s.Tracker, Identify: a.identify, Throttle: s.Throttle()})
	csrf := func(next http.Handler) http.Handler {
		check := nosurf.New(next)
		check.SetBaseCookie(http.Cookie{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		check.SetIsTLSFunc(func(r *http.Request) bool { return r.TLS != nil })
		return check
	}
	timeout := func(next http.Handler) http.Handler {
		return http.TimeoutHandler(next, s.Short, "The page took too long.")
	}

	pages := http.NewServeMux()
	for path := range site.Views {
		pages.HandleFunc("GET "+path+map[bool]string{true: "{$}"}[path == "/"], a.page)
	}
	pages.HandleFunc("POST /login", a.login)
	pages.HandleFunc("POST /logout", a.logout)

	config := handlers.Config{Authorize: s.Authorize(), Widget: a.widgets.Handler()}
	if !s.Made(site.Proxy) {
		config.ClientIP = handlers.ForwardedFor()
	}
	live := http.Handler(handlers.New(s.Tracker, config))
	for _, one := range []struct {
		mistake site.Mistake
		made    middleware
	}{
		{site.Prefix, func(next http.Handler) http.Handler { return http.StripPrefix("/presence", next) }},
		{site.CSRF, csrf},
		{site.Unwrapped, oldLog},
		{site.Timeout, timeout},
	} {
		if s.Made(one.mistake) {
			live = one.made(live)
		}
	}
	if !s.Made(site.NoMiddleware) {
		live = a.sessions.LoadAndSave(whosOnline(live))
	}

	mux := http.NewServeMux()
	mux.Handle("/scripts/", http.StripPrefix("/scripts/", http.FileServer(http.Dir(s.Scripts))))
	mux.Handle("/presence/", live)
	mux.Handle("/", timeout(a.sessions.LoadAndSave(whosOnline(csrf(pages)))))
	return mux, nil
}

// identify is what the site tells presence.
func (a *app) identify(r *http.Request) (presence.User, bool) {
	return site.User(a.sessions.GetString(r.Context(), "name"))
}

func (a *app) page(w http.ResponseWriter, r *http.Request) {
	view, live := site.Views[r.URL.Path], a.widgets.Page(r)
	user, signedIn := a.identify(r)
	token := h.Input(h.Type("hidden"), h.Name("csrf_token"), h.Value(nosurf.Token(r)))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.TitleEl(g.Text(view.Title)), g.Raw(string(live.Head())),
			h.Meta(h.Name("htmx-config"), h.Content(`{"includeIndicatorCSS":false}`)),
			h.Script(h.Src("/scripts/htmx.org/dist/htmx.min.js"), h.Defer())),
		h.Body(g.Attr("hx-boost:inherited", "true"),
			h.Nav(link("home", "/", "Home"), link("members", "/members", "Members"), link("room", "/rooms/1", "Room 1")),
			h.H1(g.Text(view.Title)),
			g.If(signedIn, h.Div(h.P(g.Text("Signed in as "), h.B(h.ID("user"), g.Text(string(user.ID)))),
				h.Form(h.ID("logout"), h.Method("post"), h.Action("/logout"), token, h.Button(g.Text("Sign out"))))),
			g.If(!signedIn, h.Form(h.ID("login"), h.Method("post"), h.Action("/login"), token,
				h.Input(h.Name("name")), h.Button(g.Text("Sign in")))),
			h.P(h.ID("count"), g.Raw(string(live.Count("site"))), g.Text(" online")),
			g.Raw(string(live.WhosOnline("site"))),
			g.Iff(view.Room != "", func() g.Node { return g.Raw(string(live.WhosOnline(view.Room))) }),
			h.Table(g.Map(view.People, func(id string) g.Node {
				return h.Tr(h.ID("of-"+id), h.Th(g.Text(id)), h.Td(h.Class("dot"), g.Raw(string(live.Dot(id)))),
					h.Td(h.Class("seen"), g.Raw(string(live.LastSeen(id)))))
			})),
		),
	)).Render(w)
}

func link(id, path, text string) g.Node { return h.A(h.ID(id), h.Href(path), g.Text(text)) }

func (a *app) login(w http.ResponseWriter, r *http.Request) {
	if _, ok := site.User(r.FormValue("name")); !ok {
		http.Error(w, "A name has 1 to 20 small letters.", http.StatusBadRequest)
		return
	}
	a.keep(w, r, r.FormValue("name"))
}

func (a *app) logout(w http.ResponseWriter, r *http.Request) {
	a.SignOut(r)
	a.keep(w, r, "")
}

// keep sets who is signed in, under a new id of the session, and goes on to the first page.
func (a *app) keep(w http.ResponseWriter, r *http.Request, name string) {
	if err := a.sessions.RenewToken(r.Context()); err != nil {
		http.Error(w, "That did not work. Try again.", http.StatusInternalServerError)
		return
	}
	a.sessions.Put(r.Context(), "name", name)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// oldLog is a logger as they were written before http.ResponseController.
func oldLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&site.OldWriter{ResponseWriter: w}, r)
	})
}

// files is a store of sessions, in a folder, which outlives the process.
type files struct{ folder string }

func (f files) path(token string) string { return filepath.Join(f.folder, filepath.Base(token)) }

// Find implements scs.Store.
func (f files) Find(token string) ([]byte, bool, error) {
	b, err := os.ReadFile(f.path(token))
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	return b, err == nil, err
}

// Commit implements scs.Store.
func (f files) Commit(token string, b []byte, _ time.Time) error {
	if err := os.WriteFile(f.path(token)+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path(token)+".new", f.path(token))
}

// Delete implements scs.Store.
func (f files) Delete(token string) error {
	if err := os.Remove(f.path(token)); !os.IsNotExist(err) {
		return err
	}
	return nil
}
