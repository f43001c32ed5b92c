// Echov5 imitates a site on Echo v5 that goes the way its documentation shows: StartConfig,
// the renderer, cookie sessions, a token in each form, and Turbo that loads pages without
// loading the document.
package main

import (
	"context"
	"html/template"
	"net"
	"net/http"

	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v5"
	echomiddleware "github.com/labstack/echo/v5/middleware"

	"github.com/rollcall-go/rollcall/examples/internal/sites/site"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/middleware/echov5"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

const page = `<!doctype html><html lang="en"><head><title>{{.Title}}</title>{{presenceHead}}
<script type="module" src="/scripts/@hotwired/turbo/dist/turbo.es2017-esm.js"></script></head><body>` + site.Body + `</body></html>`

func main() { site.Main(wire) }

// app is the site.
type app struct {
	*site.Site
	sessions sessions.Store
}

func wire(s *site.Site) (http.Handler, error) {
	cookies := sessions.NewCookieStore([]byte("for tests alone, 32 bytes of it."))
	cookies.Options = &sessions.Options{Path: "/", MaxAge: 86400, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	a := &app{Site: s, sessions: cookies}
	views := template.Must(template.New("page").Funcs(templates.Funcs()).Parse(page))
	widgets, err := templates.New(views, s.Tracker, templates.Config{})
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Static("/scripts", s.Scripts)
	e.Renderer = echov5.NewRenderer(widgets)
	csrf := echomiddleware.CSRFWithConfig(echomiddleware.CSRFConfig{TokenLookup: "form:csrf", CookiePath: "/"})
	whosOnline := echov5.PresenceWithConfig(echov5.Config{Tracker: s.Tracker, Identify: a.identify, Throttle: s.Throttle()})

	pages := e.Group("", echomiddleware.Recover(), echomiddleware.Gzip(), echomiddleware.Secure(),
		echomiddleware.ContextTimeout(s.Short), whosOnline, csrf)
	for path := range site.Views {
		pages.GET(path, a.page)
	}
	pages.POST("/login", a.login)
	pages.POST("/logout", a.logout)

	config := handlers.Config{Authorize: s.Authorize(), Widget: widgets.Handler()}
	if !s.Made(site.Proxy) {
		config.ClientIP = handlers.ForwardedFor()
	}
	mounted := http.Handler(handlers.New(s.Tracker, config))
	if s.Made(site.Prefix) {
		mounted = http.StripPrefix("/presence", mounted)
	}
	if s.Made(site.Timeout) {
		mounted = http.TimeoutHandler(mounted, s.Short, "The page took too long.")
	}
	live := e.Group("/presence", echomiddleware.Recover(), echomiddleware.Gzip())
	if s.Made(site.Unwrapped) {
		live.Use(oldLog)
	}
	if !s.Made(site.NoMiddleware) {
		live.Use(whosOnline)
	}
	if s.Made(site.CSRF) {
		live.Use(csrf)
	}
	live.Any("/*", echo.WrapHandler(mounted))
	s.Serve = func(ctx context.Context, l net.Listener, h http.Handler) error {
		return echo.StartConfig{Listener: l, HideBanner: true, HidePort: true, BeforeServeFunc: func(server *http.Server) error {
			server.ConnContext = handlers.ConnContext
			server.ReadTimeout, server.WriteTimeout = s.Short, s.Short // streams outlive both
			return nil
		}}.Start(ctx, h)
	}
	return e, nil
}

const sessionName = "site"

// identify is what the site tells presence.
func (a *app) identify(c *echo.Context) (presence.User, bool) {
	session, _ := a.sessions.Get(c.Request(), sessionName)
	name, _ := session.Values["name"].(string)
	return site.User(name)
}

func (a *app) page(c *echo.Context) error {
	view := site.Views[c.Path()]
	if user, ok := a.identify(c); ok {
		view.User = string(user.ID)
	}
	view.Token, _ = c.Get("csrf").(string)
	return c.Render(http.StatusOK, "page", view)
}

func (a *app) login(c *echo.Context) error {
	if _, ok := site.User(c.FormValue("name")); !ok {
		return echo.NewHTTPError(http.StatusBadRequest, "A name has 1 to 20 small letters.")
	}
	return a.keep(c, c.FormValue("name"))
}

func (a *app) logout(c *echo.Context) error {
	a.SignOut(c.Request())
	return a.keep(c, "")
}

// keep sets who is signed in, and goes on to the first page, as Turbo wants after a form.
func (a *app) keep(c *echo.Context, name string) error {
	session, _ := a.sessions.Get(c.Request(), sessionName)
	session.Values["name"] = name
	if err := session.Save(c.Request(), c.Response()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}

// oldLog is a logger as they were written before http.ResponseController.
func oldLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c *echo.Context) error {
		c.SetResponse(&site.OldWriter{ResponseWriter: c.Response()})
		return next(c)
	}
}
