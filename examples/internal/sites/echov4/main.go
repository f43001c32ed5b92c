// Echov4 imitates a site on Echo v4 as starter kits make them: groups, cookie sessions, a
// token in each form, timeouts, gzip, a request log, pages written past Echo's own methods,
// and htmx that loads pages without loading the document.
package main

import (
	"html/template"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/examples/internal/sites/site"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

const page = `<!doctype html><html lang="en"><head><title>{{.Title}}</title>{{presenceHead}}
<meta name="htmx-config" content='{"includeIndicatorStyles":false,"allowEval":false}'>
<script src="/scripts/htmx2/dist/htmx.min.js" defer></script></head><body hx-boost="true">` + site.Body + `</body></html>`

func main() { site.Main(wire) }

// app is the site.
type app struct {
	*site.Site
	sessions sessions.Store
	widgets  *templates.Widgets
}

func wire(s *site.Site) (http.Handler, error) {
	cookies := sessions.NewCookieStore([]byte("for tests alone, 32 bytes of it."))
	cookies.Options = &sessions.Options{Path: "/", MaxAge: 86400, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	a := &app{Site: s, sessions: cookies}
	views := template.Must(template.New("page").Funcs(templates.Funcs()).Parse(page))
	var err error
	if a.widgets, err = templates.New(views, s.Tracker, templates.Config{}); err != nil {
		return nil, err
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Static("/scripts", s.Scripts)
	whosOnline := middleware.PresenceWithConfig(middleware.Config{Tracker: s.Tracker, Identify: a.identify, Throttle: s.Throttle()})
	csrf := echomiddleware.CSRFWithConfig(echomiddleware.CSRFConfig{TokenLookup: "form:csrf", CookiePath: "/"})
	//lint:ignore SA1019 many sites have it still
	timeout := echomiddleware.TimeoutWithConfig(echomiddleware.TimeoutConfig{Timeout: s.Short})

	pages := e.Group("", requestLog(io.Discard), echomiddleware.Recover(), echomiddleware.Secure(), echomiddleware.RequestID(), echomiddleware.Gzip(),
		timeout, whosOnline, csrf)
	for path := range site.Views {
		pages.GET(path, a.page)
	}
	pages.POST("/login", a.login)
	pages.POST("/logout", a.logout)

	config := handlers.Config{Authorize: s.Authorize(), Widget: a.widgets.Handler()}
	if !s.Made(site.Proxy) {
		config.ClientIP = echo.ExtractIPFromXFFHeader(echo.TrustLinkLocal(false), echo.TrustPrivateNet(false))
	}
	live := e.Group("/presence")
	if s.Made(site.Timeout) {
		live.Use(timeout)
	}
	if s.Made(site.Unwrapped) {
		live.Use(oldLog)
	}
	if !s.Made(site.NoMiddleware) {
		live.Use(whosOnline)
	}
	if s.Made(site.CSRF) {
		live.Use(csrf)
	}
	mounted := http.Handler(handlers.New(s.Tracker, config))
	if s.Made(site.Prefix) {
		mounted = http.StripPrefix("/presence", mounted)
	}
	live.Any("/*", echo.WrapHandler(mounted))
	return e, nil
}

const sessionName = "site"

// identify is what the site tells presence.
func (a *app) identify(c echo.Context) (presence.User, bool) {
	session, _ := a.sessions.Get(c.Request(), sessionName)
	name, _ := session.Values["name"].(string)
	return site.User(name)
}

// page writes past Echo's own methods, as sites with templ and gomponents do.
func (a *app) page(c echo.Context) error {
	view := site.Views[c.Path()]
	if user, ok := a.identify(c); ok {
		view.User = string(user.ID)
	}
	view.Token, _ = c.Get("csrf").(string)
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	return a.widgets.Execute(c.Response().Writer, "page", view, c.Request())
}

func (a *app) login(c echo.Context) error {
	if _, ok := site.User(c.FormValue("name")); !ok {
		return echo.NewHTTPError(http.StatusBadRequest, "A name has 1 to 20 small letters.")
	}
	return a.keep(c, c.FormValue("name"))
}

func (a *app) logout(c echo.Context) error {
	a.SignOut(c.Request())
	return a.keep(c, "")
}

// keep sets who is signed in, and goes on to the first page: by a plain redirect, which
// htmx follows without loading the document.
func (a *app) keep(c echo.Context, name string) error {
	session, _ := a.sessions.Get(c.Request(), sessionName)
	session.Values["name"] = name
	if err := session.Save(c.Request(), c.Response()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}

// requestLog logs requests.
func requestLog(w io.Writer) echo.MiddlewareFunc {
	return echomiddleware.RequestLoggerWithConfig(echomiddleware.RequestLoggerConfig{
		LogURI: true, LogStatus: true, LogLatency: true,
		LogValuesFunc: func(_ echo.Context, v echomiddleware.RequestLoggerValues) error {
			_, err := io.WriteString(w, v.StartTime.Format(time.RFC3339)+" "+v.URI+"\n")
			return err
		},
	})
}

// oldLog is a logger as they were written before http.ResponseController.
func oldLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Writer = &site.OldWriter{ResponseWriter: c.Response().Writer}
		return next(c)
	}
}
