package core_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A site is a whole site in a test: who asks stands in the header X-User.
type site struct {
	t       *testing.T
	mux     *http.ServeMux
	handler http.Handler
	tracker *track.Tracker
	store   *spy
	logs    *syncbuf.Buffer
	visitor presence.Visitor // whom the latest handler found in its context
	events  http.HandlerFunc // answers /presence/events, if set
}

// secret is that of every site in the tests.
var secret = []byte("not much of a secret")

// newID returns the id of a browser whose guest counts at any of the sites.
func newID(t testing.TB) string {
	t.Helper()
	id, known := core.NewGuest(newTracker(t))
	if !known {
		t.Fatal("the secret is not known")
	}
	return id
}

// newSite starts a site in a synctest bubble. configure may change the config,
// and may be nil.
func newSite(t *testing.T, configure func(*nethttp.Config)) *site {
	t.Helper()
	return newNode(t, memstore.New(), configure)
}

// newNode starts a site on a store that others may have too.
func newNode(t *testing.T, store backend.Store, configure func(*nethttp.Config)) *site {
	t.Helper()
	return newNodeWith(t, store, track.Config{}, configure)
}

// newNodeWith starts a site with a secret and a logger of the tests.
func newNodeWith(t *testing.T, store backend.Store, config track.Config, configure func(*nethttp.Config)) *site {
	t.Helper()
	s := &site{t: t, mux: http.NewServeMux(), store: &spy{Store: store}, logs: new(syncbuf.Buffer)}
	config.Secret, config.Logger = secret, slog.New(slog.NewTextHandler(s.logs, nil))
	if _, ok := store.(*secretless); ok {
		config.Secret = nil
	}
	var err error
	s.tracker, err = track.New(s.store, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	mw := nethttp.Config{Tracker: s.tracker, Identify: byHeader}
	if configure != nil {
		configure(&mw)
	}
	s.handler = nethttp.PresenceWithConfig(mw)(s.mux)
	s.handle("/", func(w http.ResponseWriter, r *http.Request) {
		if s.events != nil && r.URL.Path == "/presence/events" {
			s.events(w, r)
			return
		}
		s.visitor = presence.VisitorFromContext(r.Context())
		ok(w, r)
	})
	return s
}

// handle has a handler serve a pattern of http.ServeMux.
func (s *site) handle(pattern string, handler http.HandlerFunc) { s.mux.HandleFunc(pattern, handler) }

// newTracker starts a tracker outside of any site.
func newTracker(t testing.TB) *track.Tracker {
	t.Helper()
	tracker, err := track.New(memstore.New(), track.Config{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tracker
}

func byHeader(r *http.Request) (presence.User, bool) {
	id := r.Header.Get("X-User")
	return presence.User{ID: presence.UserID(id), Hidden: id == hidden}, id != ""
}

// recorded returns whom the store was told of since the last call: the ids of
// users, and "guest" for guests.
func (s *site) recorded() []string {
	time.Sleep(10 * time.Millisecond) // longer than the tracker collects
	synctest.Wait()
	return s.store.take()
}

// expect fails the test unless exactly these were recorded.
func (s *site) expect(want ...string) {
	s.t.Helper()
	if got := s.recorded(); !slices.Equal(got, want) {
		s.t.Errorf("got %v recorded, want %v", got, want)
	}
}

// A browser keeps cookies, as long as it is not told to refuse them.
type browser struct {
	site    *site
	user    string // signed in as; empty: a guest
	header  http.Header
	cookies map[string]string
	refuses bool
	remote  string         // the address of its requests, by default a proxy's of the site's own
	set     []*http.Cookie // by the latest response
}

func (s *site) browser(user string) *browser {
	return &browser{site: s, user: user, remote: "10.0.0.1:1234", header: make(http.Header), cookies: make(map[string]string)}
}

// do makes a request.
func (b *browser) do(method, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = b.remote
	for name, values := range b.header {
		r.Header[name] = values
	}
	if b.user != "" {
		r.Header.Set("X-User", b.user)
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	b.site.handler.ServeHTTP(w, r)
	b.set = w.Result().Cookies()
	if !b.refuses {
		for _, c := range b.set {
			b.cookies[c.Name] = c.Value
			if c.MaxAge < 0 {
				delete(b.cookies, c.Name)
			}
		}
	}
	return w
}

// get is do for a page.
func (b *browser) get(path string) *httptest.ResponseRecorder { return b.do(http.MethodGet, path) }

// cookie returns the parts of the throttle cookie that the browser holds.
func (b *browser) cookie() (stamp, browser, user string) {
	b.site.t.Helper()
	parts := strings.Split(b.cookies["presence"], ".")
	if len(parts) != 3 {
		b.site.t.Fatalf("got cookie %q, want three parts", b.cookies["presence"])
	}
	return parts[0], parts[1], parts[2]
}

// spy is a store that remembers what it was told.
type spy struct {
	backend.Store
	mu     sync.Mutex
	told   []string
	people []presence.User   // devices that were recorded, as the users of the topic @people
	wrote  strings.Builder   // all that was written, as text
	bots   map[string]string // by id, their names
	forgot int               // guests that were taken out, since the last call of takenOut
}

func (s *spy) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	for _, b := range batches {
		for _, op := range b.Ops {
			fmt.Fprintf(&s.wrote, "%+v %s\n", op, op.User.Data)
			switch op.Kind {
			case backend.OpSeen:
				if b.Topic == backend.DevicesTopic {
					s.people = append(s.people, op.User)
					continue
				}
				s.told = append(s.told, string(op.User.ID))
			case backend.OpGuest:
				s.told = append(s.told, "guest")
			case backend.OpBot:
				s.told = append(s.told, op.Bot)
				if s.bots == nil {
					s.bots = make(map[string]string)
				}
				s.bots[op.Guest] = op.Bot
			case backend.OpForgetGuest:
				s.forgot++
			}
		}
	}
	s.mu.Unlock()
	return s.Store.Apply(ctx, batches)
}

func (s *spy) takenOut() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.forgot
	s.forgot = 0
	return n
}

func (s *spy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	slices.Sort(told)
	return told
}

// takePeople returns the devices that were recorded since the last call: the user, the id
// and what it is.
func (s *spy) takePeople() (people []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.people {
		user, device, _ := strings.Cut(string(u.ID), "\x1e")
		people = append(people, user+" "+device+" "+string(u.Data))
	}
	s.people = nil
	return people
}

// secretless is a store that does not give the fleet's secret until it is reached.
type secretless struct {
	backend.Store
	reached atomic.Bool
	other   atomic.Pointer[string] // the secret that another node's offer won with; nil: none
}

func (s *secretless) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	if !s.reached.Load() {
		return nil, presence.ErrStoreOut
	}
	if other := s.other.Load(); other != nil {
		return []byte(*other), nil
	}
	return s.Store.Secret(ctx, offer)
}

// ok is a handler.
func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!doctype html><p>a page") }

// stamp is a moment as the cookie holds it.
func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 36) }
