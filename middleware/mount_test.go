package middleware_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/middleware"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/templates"
)

// A shop is an Echo site whose sessions are Echo middleware.
type shop struct {
	t      *testing.T
	e      *echo.Echo
	site   *rollcall.Site
	log    *syncbuf.Buffer
	guests *guestStore

	mu   sync.Mutex
	seen []string // the paths that have passed the sessions
}

// A guestStore counts the page views of guests.
type guestStore struct {
	backend.Store
	seen atomic.Int64
}

func (s *guestStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	for _, b := range batches {
		for _, op := range b.Ops {
			if op.Kind == backend.OpGuest {
				s.seen.Add(1)
			}
		}
	}
	return s.Store.Apply(ctx, batches)
}

// views are the templates of each shop.
const views = `<!doctype html>{{presenceHead}}<h1>{{.}}</h1>{{whosOnline "site"}}`

// newShop returns a shop without presence. Config.Prefix may be "".
func newShop(t *testing.T, identify func(*http.Request) (presence.User, bool), prefix string) *shop {
	s := &shop{t: t, e: echo.New(), log: new(syncbuf.Buffer), guests: &guestStore{Store: memstore.New()}}
	s.e.HideBanner, s.e.HidePort = true, true
	s.e.Logger.SetOutput(io.Discard)
	s.e.HTTPErrorHandler = func(err error, c echo.Context) {
		t.Logf("%s: %v", c.Request().URL, err)
		s.e.DefaultHTTPErrorHandler(err, c)
	}
	var err error
	s.site, err = rollcall.New(identify, rollcall.Config{
		Views:  template.Must(template.New("home").Funcs(rollcall.Funcs()).Parse(views)),
		Logger: slog.New(slog.NewTextHandler(s.log, nil)),
		Prefix: prefix,
		Store:  s.guests,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.site.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sessions finds the user whom the cookie names.
func (s *shop) sessions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set("user", s.userOf(c.Request()))
		return next(c)
	}
}

// userOf returns the user whom the cookie of a request names.
func (s *shop) userOf(r *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.URL.Path)
	if cookie, err := r.Cookie("user"); err == nil {
		return cookie.Value
	}
	return ""
}

// identify returns what sessions has found. It panics before, as many a site's does.
func identify(c echo.Context) (presence.User, bool) {
	name := c.Get("user").(string)
	return presence.User{ID: presence.UserID(name)}, name != ""
}

// pages mounts the pages of a shop.
func (s *shop) pages(r interface {
	GET(string, echo.HandlerFunc, ...echo.MiddlewareFunc) *echo.Route
	POST(string, echo.HandlerFunc, ...echo.MiddlewareFunc) *echo.Route
}) {
	r.GET("/page", func(c echo.Context) error { return c.Render(http.StatusOK, "home", "a page") })
	r.GET("/:user", func(c echo.Context) error { return c.String(http.StatusNotFound, "no user "+c.Param("user")) })
	r.POST("/logout", func(c echo.Context) error {
		c.Set("user", "") // the session ends first
		site := rollcall.From(c.Request().Context())
		if site == nil {
			return errors.New("the request has no site")
		}
		return site.SignOff(c.Request())
	})
}

// A visitor is a browser at a shop.
type visitor struct {
	t    *testing.T
	http *http.Client
	base string
}

func newVisitor(t *testing.T, base, user string) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(base); err == nil && user != "" {
		jar.SetCookies(u, []*http.Cookie{{Name: "user", Value: user}})
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{t, &http.Client{Jar: jar, Transport: transport}, base}
}

// do returns the status and the body of an answer. It asks again until the server is up.
func (v *visitor) do(method, path, body string) (int, string) {
	v.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(body))
		if err != nil {
			v.t.Fatal(err)
		}
		res, err := v.http.Do(r)
		if err == nil {
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			if set := res.Cookies(); len(set) > 1 {
				v.t.Errorf("%s: got the cookies %v, want one of presence", path, set)
			}
			return res.StatusCode, string(b)
		}
		if time.Now().After(deadline) {
			v.t.Fatal(err)
		}
	}
}

// stream opens the stream of a page whose user is me. It returns the welcome, and the end of the stream.
func (v *visitor) stream(prefix, me string) (welcome string, ended func()) {
	v.t.Helper()
	res, err := v.http.Get(v.base + prefix + "/events?topic=site&me=" + me)
	if err != nil || res.StatusCode != http.StatusOK {
		v.t.Fatalf("got %v and %v, want a stream", res, err)
	}
	v.t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && welcome == "" {
		welcome, _ = strings.CutPrefix(lines.Text(), "data: ")
		if welcome == lines.Text() {
			welcome = ""
		}
	}
	return welcome, func() {
		for lines.Scan() {
		}
	}
}

var connectionOf = regexp.MustCompile(`"connection":"([^"]+)"`)

// plays fails the test unless Alice is one visitor of the shop: she is shown once, her stream is hers, no
// guest counts, her beats do not pass the sessions, and a sign-out ends all.
func (s *shop) plays(base, pages, prefix string) {
	t := s.t
	t.Helper()
	alice := newVisitor(t, base, "alice")
	for range 3 { // a guest would count at the second
		status, page := alice.do("GET", pages+"/page", "")
		if status != 200 || strings.Count(page, `data-user="alice"`) != 1 || !strings.Contains(page, "<h1>a page") {
			t.Fatalf("got %d %s, want a page that shows Alice once\n%s", status, page, s.log)
		}
	}
	file := regexp.MustCompile(`src="([^"]+)"`).FindStringSubmatch(func() string { _, page := alice.do("GET", pages+"/page", ""); return page }())
	if status, _ := alice.do("GET", file[1], ""); status != 200 {
		t.Errorf("%s: got %d, want the script", file[1], status)
	}
	if status, page := alice.do("GET", pages+"/bob", ""); status != 404 || page != "no user bob" {
		t.Errorf("got %d %q, want the site's own page", status, page)
	}
	welcome, ended := alice.stream(prefix, "alice")
	if !strings.Contains(welcome, `"user":"alice"`) {
		t.Errorf("got the welcome %s, want one of Alice's stream\n%s", welcome, s.log)
	}
	if status, body := alice.do("POST", prefix+"/beat", `{"connection":"`+connectionOf.FindStringSubmatch(welcome)[1]+`"}`); status != 204 {
		t.Errorf("a beat: got %d %s, want 204", status, body)
	}
	if status, body := alice.do("PUT", prefix+"/status", `{"status":"busy"}`); status != 204 {
		t.Errorf("a status: got %d %s, want 204", status, body)
	}
	s.mu.Lock()
	for _, path := range s.seen {
		if path == prefix+"/beat" || strings.Contains(path, "/assets/") {
			t.Errorf("%s has passed the sessions", path)
		}
	}
	s.mu.Unlock()
	if status, body := alice.do("GET", prefix+"/roster?topic=site", ""); status != 200 || !strings.Contains(body, `"total":1`) || !strings.Contains(body, `"guests":0`) {
		t.Errorf("got %d %s, want Alice alone\n%s", status, body, s.log)
	}
	if status, body := alice.do("POST", pages+"/logout", ""); status != 200 {
		t.Errorf("a sign-out: got %d %s", status, body)
	}
	ended() // after all that was written before
	if n := s.guests.seen.Load(); n != 0 {
		t.Errorf("%d page views of Alice counted as those of a guest", n)
	}
}

// finds fails the test unless the log has exactly these findings.
func (s *shop) finds(want ...presence.Finding) {
	s.t.Helper()
	var got []presence.Finding
	for _, d := range s.site.Tracker().Staff().Diagnose() {
		got = append(got, d.Finding)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("found %v, want %v\n%s", got, want, s.log)
	}
}

// The wirings that Echo's users write. In each Alice is one visitor.
func TestPresence(t *testing.T) {
	for name, wire := range map[string]func(*shop) http.Handler{
		"sessions first": func(s *shop) http.Handler {
			s.e.Use(s.sessions)
			s.e.Use(middleware.Presence(s.e, s.site, identify))
			s.pages(s.e)
			return s.e
		},
		"presence first": func(s *shop) http.Handler {
			s.e.Use(middleware.Presence(s.e, s.site, identify), s.sessions)
			s.pages(s.e)
			return s.e
		},
		"after the pages": func(s *shop) http.Handler {
			s.pages(s.e)
			s.e.Use(s.sessions)
			s.e.Use(middleware.Presence(s.e, s.site, identify))
			return s.e
		},
		"Pre": func(s *shop) http.Handler {
			s.e.Pre(middleware.Presence(s.e, s.site, identify))
			s.e.Use(s.sessions)
			s.pages(s.e)
			return s.e
		},
		"sessions by Pre": func(s *shop) http.Handler {
			s.e.Use(middleware.Presence(s.e, s.site, identify))
			s.e.Pre(s.sessions)
			s.pages(s.e)
			return s.e
		},
		"on a group": func(s *shop) http.Handler {
			s.e.Use(s.sessions)
			g := s.e.Group("", middleware.Presence(s.e, s.site, identify))
			s.pages(g)
			return s.e
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil, "")
			server := httptest.NewServer(wire(s))
			t.Cleanup(server.Close)
			s.plays(server.URL, "", "/presence")
			s.finds()
		})
	}
}

// The site's sessions are the middleware of a group.
func TestPresenceOfAGroup(t *testing.T) {
	s := newShop(t, nil, "/app/presence")
	app := s.e.Group("/app")
	app.Use(s.sessions, middleware.Presence(s.e, s.site, identify, app))
	s.pages(app)
	server := httptest.NewServer(s.e)
	t.Cleanup(server.Close)
	s.plays(server.URL, "/app", "/app/presence")
	s.finds()
}

// A mistake of the wiring is one finding, and Alice is one visitor where that is possible.
func TestPresenceTwice(t *testing.T) {
	byCookie := func(r *http.Request) (user presence.User, ok bool) { // finds nobody before the sessions
		user, _ = r.Context().Value(userKey{}).(presence.User)
		return user, user.ID != ""
	}
	inContext := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			user := presence.User{ID: presence.UserID(c.Get("user").(string))}
			c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), userKey{}, user)))
			return next(c)
		}
	}
	for name, wire := range map[string]func(*shop) http.Handler{
		"Wrap outside and inside": func(s *shop) http.Handler {
			s.e.Use(s.sessions, inContext, echo.WrapMiddleware(s.site.Wrap))
			s.pages(s.e)
			return s.site.Wrap(s.e)
		},
		"Wrap before the sessions and after": func(s *shop) http.Handler {
			s.e.Use(echo.WrapMiddleware(s.site.Wrap), s.sessions, inContext, echo.WrapMiddleware(s.site.Wrap))
			s.pages(s.e)
			return s.e
		},
		"Wrap outside, Presence inside": func(s *shop) http.Handler {
			s.e.Use(s.sessions, middleware.Presence(s.e, s.site, identify))
			s.pages(s.e)
			return s.site.Wrap(s.e)
		},
		"one Presence twice": func(s *shop) http.Handler {
			p := middleware.Presence(s.e, s.site, identify)
			s.e.Use(p, s.sessions, p)
			s.pages(s.e)
			return s.e
		},
		"two of Presence": func(s *shop) http.Handler {
			s.e.Use(middleware.Presence(s.e, s.site, identify), s.sessions, middleware.Presence(s.e, s.site, identify))
			s.pages(s.e)
			return s.e
		},
		"on e and on a group": func(s *shop) http.Handler {
			p := middleware.Presence(s.e, s.site, identify)
			s.e.Use(p, s.sessions)
			s.pages(s.e.Group("", p))
			return s.e
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, byCookie, "")
			handler := wire(s)
			if s.e.Renderer == nil {
				s.e.Renderer = templates.RendererFor[echo.Context](s.site.Widgets())
			}
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			s.plays(server.URL, "", "/presence")
			s.finds(presence.PassedTwice)
		})
	}
	t.Run("a node that no page has passed", func(t *testing.T) {
		s := newShop(t, byCookie, "")
		s.e.Use(s.sessions, inContext, echo.WrapMiddleware(s.site.Wrap))
		server := httptest.NewServer(s.site.Wrap(s.e))
		t.Cleanup(server.Close)
		if welcome, _ := newVisitor(t, server.URL, "alice").stream("/presence", "alice"); !strings.Contains(welcome, `"user":"alice"`) {
			t.Errorf("got the welcome %s, want one of Alice's stream", welcome)
		}
		if welcome, _ := newVisitor(t, server.URL, "").stream("/presence", "alice"); !strings.Contains(welcome, `"user":""`) {
			t.Errorf("got the welcome %s, want one of a guest's stream", welcome)
		}
	})
}

type userKey struct{}

// The first page view tells of presence that stands before the sessions.
func TestPresenceBeforeTheSessions(t *testing.T) {
	s := newShop(t, nil, "/app/presence")
	careful := func(c echo.Context) (user presence.User, ok bool) {
		name, _ := c.Get("user").(string)
		return presence.User{ID: presence.UserID(name)}, name != ""
	}
	app := s.e.Group("/app")
	app.Use(middleware.Presence(s.e, s.site, careful, app), s.sessions)
	s.pages(app)
	server := httptest.NewServer(s.e)
	t.Cleanup(server.Close)
	guest := newVisitor(t, server.URL, "")
	guest.do("GET", "/app/page", "")
	s.finds()
	newVisitor(t, server.URL, "alice").do("GET", "/app/page", "")
	s.finds(presence.NoUser)
	if log := s.log.String(); !strings.Contains(log, "after the page, and not before it") {
		t.Errorf("got the log %s, want the cause", log)
	}
}

// The endpoints must be within the group that has the sessions.
func TestPresenceOfAGroupWithoutEndpoints(t *testing.T) {
	t.Run("the group is named", func(t *testing.T) {
		s := newShop(t, nil, "")
		defer func() {
			if err := fmt.Sprint(recover()); !strings.Contains(err, "set Config.Prefix to /app/presence") {
				t.Errorf("got the panic %s, want one that names the field and its value", err)
			}
		}()
		app := s.e.Group("/app", s.sessions)
		app.Use(middleware.Presence(s.e, s.site, identify, app))
	})
	t.Run("the group is not named", func(t *testing.T) {
		s := newShop(t, nil, "")
		careful := func(c echo.Context) (user presence.User, ok bool) {
			name, _ := c.Get("user").(string)
			return presence.User{ID: presence.UserID(name)}, name != ""
		}
		s.pages(s.e.Group("/app", s.sessions, middleware.Presence(s.e, s.site, careful)))
		server := httptest.NewServer(s.e)
		t.Cleanup(server.Close)
		alice := newVisitor(t, server.URL, "alice")
		if _, page := alice.do("GET", "/app/page", ""); !strings.Contains(page, `data-user="alice"`) {
			t.Errorf("got the page %s, want Alice on it", page)
		}
		s.finds()
		alice.stream("/presence", "alice")
		s.finds(presence.NoMiddleware)
	})
	t.Run("nothing uses it", func(t *testing.T) {
		s := newShop(t, nil, "")
		s.e.Use(s.sessions)
		middleware.Presence(s.e, s.site, identify)
		server := httptest.NewServer(s.e)
		t.Cleanup(server.Close)
		alice := newVisitor(t, server.URL, "alice")
		alice.stream("/presence", "alice") // of a page that another node has served
		s.finds()
		alice.stream("/presence", "") // of a page that no middleware has seen
		s.finds(presence.NoMiddleware)
	})
}

// The servers that Echo's users start and stop.
func TestPresenceIsServed(t *testing.T) {
	cert, key := certificate(t)
	for name, serve := range map[string]struct {
		serve func(ctx context.Context, s *shop, addr string) error
		stop  func(s *shop, stop context.CancelFunc) error
	}{
		"ListenAndServe": {
			func(ctx context.Context, s *shop, addr string) error { return s.site.ListenAndServe(ctx, addr, s.e) },
			func(_ *shop, stop context.CancelFunc) error { stop(); return nil },
		},
		"Start and Shutdown": {
			func(_ context.Context, s *shop, addr string) error { return s.e.Start(addr) },
			func(s *shop, _ context.CancelFunc) error { return s.e.Shutdown(context.Background()) },
		},
		"Start and Close": {
			func(_ context.Context, s *shop, addr string) error { return s.e.Start(addr) },
			func(s *shop, _ context.CancelFunc) error { return s.site.Close(context.Background()) },
		},
		"StartTLS and Shutdown": {
			func(_ context.Context, s *shop, addr string) error { return s.e.StartTLS(addr, cert, key) },
			func(s *shop, _ context.CancelFunc) error { return s.e.Shutdown(context.Background()) },
		},
		"StartTLS and Close": {
			func(_ context.Context, s *shop, addr string) error { return s.e.StartTLS(addr, cert, key) },
			func(s *shop, _ context.CancelFunc) error { return s.site.Close(context.Background()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil, "")
			s.e.Use(middleware.Presence(s.e, s.site, identify), s.sessions)
			s.pages(s.e)
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			free.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- serve.serve(ctx, s, free.Addr().String()) }()
			base := "http://" + free.Addr().String()
			if strings.HasPrefix(name, "StartTLS") {
				base = "https://" + free.Addr().String()
			}
			s.plays(base, "", "/presence")
			_, streamEnded := newVisitor(t, base, "bob").stream("/presence", "bob")
			if err := serve.stop(s, stop); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil && err != http.ErrServerClosed {
				t.Error(err)
			}
			streamEnded()
			s.finds()
		})
	}
}

// certificate returns the certificate and the key of a server at 127.0.0.1.
func certificate(t *testing.T) (cert, key []byte) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	pair := server.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// What answers in place of an endpoint is found with its own status, an error of Echo included.
func TestPresenceBehindAWall(t *testing.T) {
	for name, tt := range map[string]struct {
		answer echo.HandlerFunc
		status string
	}{
		"a login wall": {func(c echo.Context) error { return c.Redirect(http.StatusSeeOther, "/login") }, "status=303 location=/login"},
		"an error":     {func(echo.Context) error { return echo.ErrNotFound }, "status=404"},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(syncbuf.Buffer)
			site, err := rollcall.New(nil, rollcall.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = site.Close(t.Context()) })
			e := echo.New()
			e.Use(func(echo.HandlerFunc) echo.HandlerFunc { return tt.answer }, middleware.Presence(e, site, identify))
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/presence/events?topic=site", nil))
			if !strings.Contains(log.String(), "finding=login-wall") || !strings.Contains(log.String(), tt.status) {
				t.Errorf("got %d and %s, want login-wall with %s", w.Code, log, tt.status)
			}
		})
	}
}
