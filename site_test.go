package rollcall_test

import (
	"context"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(browse.Tests{M: m}) }

// identifyByHeader is the site's own: a real one knows its sessions.
func identifyByHeader(r *http.Request) (presence.User, bool) {
	id := presence.UserID(r.Header.Get("User"))
	return presence.User{ID: id}, id != ""
}

// parse returns the site's templates: one, by the name page.
func parse(text string) *template.Template {
	return template.Must(template.New("page").Funcs(rollcall.Funcs()).Parse(text))
}

func newLogger(log *syncbuf.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }

// newSite returns a site that is closed with the test, and its log.
func newSite(t *testing.T, config rollcall.Config) (*rollcall.Site, *syncbuf.Buffer) {
	t.Helper()
	log := new(syncbuf.Buffer)
	config.Logger = newLogger(log)
	site, err := rollcall.New(identifyByHeader, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := site.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return site, log
}

// get returns the answer to a request of a user; "": of a guest.
func get(t *testing.T, site http.Handler, path, user string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", "text/html") // as browsers do
	r.Header.Set("User", user)
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

// pages is the site's own handler: each path is the template page.
func pages(site *rollcall.Site) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { site.Render(w, r, "page", nil) })
}

func TestSiteShowsWhoIsOnline(t *testing.T) {
	site, log := newSite(t, rollcall.Config{Views: parse(`{{onlineTotal "site"}} online`)})
	h := site.Wrap(pages(site))
	if got := get(t, h, "/", "alice"); got.Body.String() != "1 online" || got.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("got %v %q, want Alice to see one user, as HTML", got.Header(), got.Body)
	}
	until(t, "Alice is in the roster of the endpoints", func() bool {
		return strings.Contains(get(t, h, "/presence/roster", "bob").Body.String(), `"alice"`)
	})
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, `msg="presence: ready"`) ||
		!strings.Contains(line, "store=memory other_nodes=0 ") || !strings.Contains(line, "ttl=45s") {
		t.Errorf("got the log %q, want one line that says what was made", line)
	}
}

// connect opens a stream of a user.
func connect(t *testing.T, site *rollcall.Site, user presence.UserID) *track.Connection {
	t.Helper()
	conn, err := site.Tracker().Connect(t.Context(), track.ConnectOptions{
		Visitor: presence.Visitor{User: presence.User{ID: user}}, Topics: []presence.Topic{presence.Site},
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestJobsRun(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{Parts: rollcall.Parts{
		Track: track.Config{Grace: -1, TTL: 300 * time.Millisecond}, Jobs: jobs.Config{Sweep: 100 * time.Millisecond},
	}})
	connect(t, site, "alice").Close()
	until(t, "Alice has left", func() bool {
		view, err := site.Tracker().View(t.Context(), presence.Site)
		return err == nil && view.Total == 0
	})
}

// until waits until something is so.
func until(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !isSo(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not so after a minute: ", what)
		}
	}
}

func TestNewReturnsAllProblemsAtOnce(t *testing.T) {
	closed := make(chan struct{})
	_, err := rollcall.New(nil, rollcall.Config{
		Store:  storeThatCloses{memstore.New(), func() error { close(closed); return nil }},
		Prefix: "/",
		Views:  parse("{{presenceHead}}"),
		Parts: rollcall.Parts{
			Track:    track.Config{Node: "not a name", TTL: time.Nanosecond},
			Jobs:     jobs.Config{Sweep: 1},
			Handlers: handlers.Config{App: "4.13.0"},
		},
	})
	if !errors.Is(err, presence.ErrInvalidConfig) {
		t.Fatalf("got %v, want presence.ErrInvalidConfig", err)
	}
	for _, want := range []string{"Prefix", "Parts.Handlers.App", "set App", "Parts.Track: ", "Node", "TTL", "Parts.Jobs: ", "Sweep"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s:\n%v", want, err)
		}
	}
	select {
	case <-closed:
	default:
		t.Error("New has not closed the store, which nobody else knows now")
	}
}

// A storeThatCloses says when.
type storeThatCloses struct {
	*memstore.Store
	close func() error
}

func (s storeThatCloses) Close() error { return s.close() }

// An unfitStore is reached, and refuses to work.
type unfitStore struct{ *memstore.Store }

var errUnfit = errors.New("too old")

func (unfitStore) Check(context.Context) error { return errUnfit }

func TestUnfitStoreIsAnError(t *testing.T) {
	if _, err := rollcall.New(identifyByHeader, rollcall.Config{Store: unfitStore{memstore.New()}}); !errors.Is(err, errUnfit) {
		t.Errorf("got %v, want that of the store", err)
	}
}

// A store that is out at the start is a line in the log: the site is there without presence.
type absentStore struct{ *memstore.Store }

func (absentStore) Check(context.Context) error { return presence.ErrStoreOut }

func (absentStore) Poll(context.Context, backend.Poll) (backend.Polled, error) {
	return backend.Polled{}, presence.ErrStoreOut
}

func TestStoreThatIsOutIsNoError(t *testing.T) {
	site, log := newSite(t, rollcall.Config{Store: absentStore{memstore.New()}, Views: parse("hello")})
	if got := get(t, site.Wrap(pages(site)), "/", "alice"); got.Body.String() != "hello" {
		t.Errorf("got %q, want the page", got.Body)
	}
	if !strings.Contains(log.String(), "the store cannot be reached") || !strings.Contains(log.String(), "other_nodes=unknown") {
		t.Errorf("got the log %q, want a line on the store", log)
	}
}

func TestFailedPageIs500(t *testing.T) {
	site, log := newSite(t, rollcall.Config{Views: parse("half a page {{.Missing.Field}}")})
	got := get(t, site.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { site.Render(w, r, "page", 1) })), "/", "")
	if got.Code != http.StatusInternalServerError || strings.Contains(got.Body.String(), "half") {
		t.Errorf("got %d %q, want 500 and nothing of the page", got.Code, got.Body)
	}
	if !strings.Contains(log.String(), "Missing") {
		t.Errorf("got the log %q, want the error", log)
	}
	none, _ := newSite(t, rollcall.Config{})
	if err := none.Execute(io.Discard, "page", nil, httptest.NewRequest("GET", "/", nil)); err == nil || !strings.Contains(err.Error(), "Config.Views") {
		t.Errorf("got %v, want an error that names Config.Views", err)
	}
}

// A server starts with any handler, because a router may call Wrap for each request. The first stream tells of
// a handler that has no presence in it.
func TestServerWithoutWrap(t *testing.T) {
	site, log := newSite(t, rollcall.Config{})
	server := site.Server("", http.NotFoundHandler())
	get(t, server.Handler, "/", "alice")
	get(t, server.Handler, "/presence/events", "alice")
	if got := log.String(); strings.Count(got, "finding=") != 1 || !strings.Contains(got, "finding=login-wall") || !strings.Contains(got, "site.Wrap") {
		t.Errorf("got the log %s, want one finding that names Wrap", got)
	}
}

// A handler of any package finds the site of its request.
func TestFrom(t *testing.T) {
	skipped := func(r *http.Request) bool { return r.URL.Path == "/skipped" }
	site, _ := newSite(t, rollcall.Config{Parts: rollcall.Parts{Middleware: nethttp.Config{Skipper: skipped}}})
	other, _ := newSite(t, rollcall.Config{})
	var from *rollcall.Site
	var signOff, signOffOther error
	h := site.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		from, signOff, signOffOther = rollcall.From(r.Context()), site.SignOff(r), other.SignOff(r)
	}))
	for _, tt := range []struct {
		path   string
		passes bool
	}{
		{"/page", true},
		{"/skipped", false},
	} {
		if get(t, h, tt.path, "alice"); from != site || (signOff == nil) != tt.passes || signOffOther == nil {
			t.Errorf("%s: got %v, %v and %v; want the site, %v without an error, and an error of the other site", tt.path, from, signOff, signOffOther, tt.passes)
		}
	}
	if get(t, other.Wrap(h), "/page", "alice"); from != site || signOff != nil || signOffOther != nil {
		t.Errorf("got %v, %v and %v; want the inner site, and both sign off", from, signOff, signOffOther)
	}
	if got := rollcall.From(t.Context()); got != nil {
		t.Errorf("got %v for a request outside of a site, want nil", got)
	}
}

// The site is not asked who wants our own files, which are answered before everything else.
func TestFilesNeedNoIdentify(t *testing.T) {
	asked := 0
	site, err := rollcall.New(func(*http.Request) (presence.User, bool) { asked++; return presence.User{ID: "alice"}, true }, rollcall.Config{Views: parse(`{{presenceHead}}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close(context.Background())
	h := site.Wrap(pages(site))
	src := regexp.MustCompile(`src="([^"]+)"`).FindStringSubmatch(get(t, h, "/", "").Body.String())[1]
	if got := get(t, h, src, ""); got.Code != http.StatusOK || asked != 1 {
		t.Errorf("%s: got %d, and identify was asked %d times; want the file, and once, for the page", src, got.Code, asked)
	}
}

// The streams of a site that ends are over at once, and its requests are answered.
func TestListenAndServeStopsInOrder(t *testing.T) {
	closed := false
	site, _ := newSite(t, rollcall.Config{Store: storeThatCloses{memstore.New(), func() error { closed = true; return nil }}})
	begun, answered := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-answered
		if closed {
			t.Error("the store was closed before the last request was answered")
		}
		_, _ = io.WriteString(w, "served")
	})
	addr := freeAddr(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- site.ListenAndServe(ctx, addr, site.Wrap(slow)) }()
	stream := open(t, "http://"+addr+"/presence/events", "alice")
	page := make(chan string, 1)
	go func() { page <- string(open(t, "http://"+addr+"/", "bob")()) }()
	<-begun
	stop()
	if got := string(stream()); !strings.Contains(got, "event: welcome") {
		t.Errorf("got the stream %q, want one that has begun, and ends", got)
	}
	close(answered)
	if got := <-page; got != "served" {
		t.Errorf("got the page %q, want an answer", got)
	}
	if err := <-done; err != nil || !closed {
		t.Errorf("got %v, and the store is closed: %v; want no error and a closed store", err, closed)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// open sends a user's request until it is answered, and returns what reads the answer to its
// end.
func open(t *testing.T, url, user string) func() []byte {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User", user)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		res, err := client.Do(r)
		if err == nil {
			return func() []byte {
				defer res.Body.Close()
				body, _ := io.ReadAll(res.Body) // a stream may be cut
				return body
			}
		}
		if time.Now().After(deadline) {
			t.Error(err)
			return func() []byte { return nil }
		}
	}
}

func TestSignOffEndsPresenceOfTheBrowser(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{Views: parse(`{{onlineTotal "site"}}`)})
	mux := http.NewServeMux()
	mux.Handle("GET /", pages(site))
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		if err := site.SignOff(r); err != nil {
			t.Error(err)
		}
	})
	h := site.Wrap(mux)
	get(t, h, "/", "alice")
	r := httptest.NewRequest(http.MethodPost, "/logout", nil)
	r.Header.Set("User", "alice")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if got := get(t, h, "/", "").Body.String(); got != "0" {
		t.Errorf("got %s users online, want none after the sign-out", got)
	}
	if err := site.SignOff(httptest.NewRequest(http.MethodPost, "/logout", nil)); err == nil || !strings.Contains(err.Error(), "outside of presence") {
		t.Errorf("got %v, want an error for a request that has not passed Wrap", err)
	}
}

func TestSiteWithoutSQLHasNoNotifications(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{})
	if err := site.Send(t.Context()); !errors.Is(err, rollcall.ErrNoSQL) {
		t.Errorf("Send: got %v, want ErrNoSQL", err)
	}
	if err := site.SendTx(t.Context(), nil); !errors.Is(err, rollcall.ErrNoSQL) {
		t.Errorf("SendTx: got %v, want ErrNoSQL", err)
	}
	site.Kick() // does nothing
}

// A site that its framework's middleware mounts has no identify, so Wrap would take everybody for a guest.
func TestWrapWithoutIdentify(t *testing.T) {
	site, err := rollcall.New(nil, rollcall.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = site.Close(t.Context())
		if err, ok := recover().(error); !errors.Is(err, presence.ErrInvalidConfig) || !ok || !strings.Contains(err.Error(), "New got no identify") {
			t.Errorf("got the panic %v, want one that names identify", err)
		}
	}()
	site.Wrap(http.NotFoundHandler())
}

// Wrap stands outside of the sessions, so it finds no user. A page finds the user, and the log says so.
func TestSessionsInsideOfWrap(t *testing.T) {
	type key struct{}
	log := new(syncbuf.Buffer)
	identify := func(r *http.Request) (presence.User, bool) {
		name, ok := r.Context().Value(key{}).(string)
		return presence.User{ID: presence.UserID(name)}, ok
	}
	site, err := rollcall.New(identify, rollcall.Config{Logger: newLogger(log), Views: parse(`{{presenceHead}}{{whosOnline "site"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = site.Close(t.Context()) })
	sessions := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/guest" {
				r = r.WithContext(context.WithValue(r.Context(), key{}, "alice"))
			}
			next.ServeHTTP(w, r)
		})
	}
	wrong := site.Wrap(sessions(pages(site)))
	for _, step := range []struct {
		path string
		want bool
	}{{"/guest", false}, {"/", true}} {
		get(t, wrong, step.path, "")
		if got := strings.Contains(log.String(), "finding=no-user"); got != step.want {
			t.Errorf("after %s: found %t, want %t: %s", step.path, got, step.want, log)
		}
	}
}
