package adaptertest

import (
	"compress/gzip"
	"context"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/pipes"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The server's timeouts would cut streams if nothing removed them.
const serverTimeout = 10 * time.Second

// A world is a site, its server and its network, in a synctest bubble. A request names its
// user in the header X-User.
type world struct {
	t       *testing.T
	tracker *track.Tracker
	store   *spy
	site    http.Handler
	network *pipes.Network
	visitor presence.Visitor           // that page found in the context of the latest request
	page    http.HandlerFunc           // writes the pages at all paths
	skips   func(r *http.Request) bool // nil: none
}

// inWorld runs a test in a world of its own.
func inWorld(t *testing.T, a Adapter, site Site, test func(*world)) {
	t.Helper()
	serve := func(ctx context.Context, site http.Handler, l net.Listener) error {
		server := newServer(site)
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		return server.Serve(l)
	}
	servedBy(t, a, site, serve, test)
}

// servedBy is inWorld with a server of the test's own.
func servedBy(t *testing.T, a Adapter, site Site, serve Serve, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, a, site)
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = serve(ctx, w.site, w.network.Listen())
		}()
		defer func() {
			if err := w.tracker.Close(context.Background()); err != nil {
				t.Error(err)
			}
			stop()
			<-served
		}()
		test(w)
	})
}

// newServer returns a server whose timeouts cut streams, if nothing removes them.
func newServer(site http.Handler) *http.Server {
	return &http.Server{
		Handler: site, ReadTimeout: serverTimeout, WriteTimeout: serverTimeout,
		ConnContext: handlers.ConnContext, ErrorLog: log.New(io.Discard, "", 0),
	}
}

// newWorld returns a world without a server.
func newWorld(t *testing.T, a Adapter, site Site) *world {
	t.Helper()
	w := &world{t: t, store: &spy{Store: memstore.New()}, network: pipes.New(), page: plain}
	var err error
	w.tracker, err = track.New(w.store, track.Config{
		Secret: []byte("not much of a secret"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	site.Tracker = w.tracker
	site.Skipper = func(r *http.Request) bool { return w.skips != nil && w.skips(r) }
	site.Identify = func(r *http.Request) (presence.User, bool) {
		id := r.Header.Get("X-User")
		return presence.User{ID: presence.UserID(id)}, id != ""
	}
	site.Presence = handlers.New(w.tracker, handlers.Config{})
	site.Page = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.visitor = presence.VisitorFromContext(r.Context())
		w.page(rw, r)
	})
	w.site = a.New(site)
	return w
}

// plain writes a page.
func plain(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, PageBody) }

// expect fails the test unless exactly these were recorded since the last call: users by
// their ids, and each guest as "guest".
func (w *world) expect(want ...string) {
	w.t.Helper()
	time.Sleep(10 * time.Millisecond) // longer than the tracker collects
	synctest.Wait()
	if got := w.store.take(); !slices.Equal(got, want) {
		w.t.Errorf("got %v recorded, want %v", got, want)
	}
}

// A browser keeps the presence cookies. It can be used by one goroutine.
type browser struct {
	world   *world
	user    string // signed in as; "": a guest
	cookies map[string]string
}

func (w *world) browser(user string) *browser {
	return &browser{world: w, user: user, cookies: make(map[string]string)}
}

// A page is an answer.
type page struct {
	status int
	body   string
	header http.Header
	set    []*http.Cookie
	early  []textproto.MIMEHeader // of the informational answers before it
}

// isPage reports whether an answer is neither an error nor a text.
func (p page) isPage() bool {
	return p.status < http.StatusBadRequest && !strings.HasPrefix(p.header.Get("Content-Type"), "text/plain")
}

// get is do for a page.
func (b *browser) get(path string) page {
	b.world.t.Helper()
	return b.do(http.MethodGet, path, "")
}

// do makes a request on a connection of its own, and keeps the cookies of its answer.
func (b *browser) do(method, path, body string) page {
	b.world.t.Helper()
	transport := &http.Transport{DialContext: b.world.network.Dial, DisableCompression: true, DisableKeepAlives: true}
	p := b.through(transport, "http://site", method, path, body)
	transport.CloseIdleConnections()
	return p
}

// through makes a request by a transport.
func (b *browser) through(transport http.RoundTripper, base, method, path, body string) page {
	t := b.world.t
	t.Helper()
	var p page
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
			p.early = append(p.early, header)
			return nil
		},
	})
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	b.sign(r)
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	p.status, p.header, p.set = res.StatusCode, res.Header, res.Cookies()
	p.body = bodyOf(t, res)
	b.keep(p.set)
	return p
}

// sign gives a request the browser's headers.
func (b *browser) sign(r *http.Request) {
	if b.user != "" {
		r.Header.Set("X-User", b.user)
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
}

// keep keeps cookies.
func (b *browser) keep(set []*http.Cookie) {
	for _, c := range set {
		b.cookies[c.Name] = c.Value
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
}

// bodyOf returns the body of an answer, unpacked.
func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	var from io.Reader = res.Body
	if res.Header.Get("Content-Encoding") == "gzip" && res.ContentLength != 0 {
		unpacked, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatalf("the body is not packed by gzip: %v", err)
		}
		from = unpacked
	}
	body, err := io.ReadAll(from)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	return string(body)
}

// A spy is a store that remembers the page views that it was given.
type spy struct {
	backend.Store
	mu   sync.Mutex
	told []string
}

func (s *spy) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	for _, b := range batches {
		for _, op := range b.Ops {
			switch op.Kind {
			case backend.OpSeen:
				s.told = append(s.told, string(op.User.ID))
			case backend.OpGuest:
				s.told = append(s.told, "guest")
			}
		}
	}
	s.mu.Unlock()
	return s.Store.Apply(ctx, batches)
}

func (s *spy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	slices.Sort(told)
	return told
}
