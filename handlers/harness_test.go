package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/pipes"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A site is a server with presence, and a client that talks to it.
type site struct {
	t       *testing.T
	store   backend.Store
	tracker *track.Tracker
	handler *handlers.Handler
	server  *http.Server
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	client  *http.Client
}

// setup is what a test changes about a site. The zero value is a site with
// everything at its default.
type setup struct {
	store     backend.Store
	presence  track.Config
	directory func(*presencetest.MemoryDirectory) presence.Directory // goes around that of newPeopleSite
	handlers  handlers.Config
	feeds     func(*track.Tracker) *feed.Keeper // nil: none, or that of newFeedSite
	feedStore func(feed.Store) feed.Store       // goes around that of newFeedSite
	server    func(*http.Server)
	wrap      func(http.Handler) http.Handler // goes around the handler
	made      func(*handlers.Handler)         // is told the handler
	strange   bool                            // without the test's login
	listener  net.Listener                    // a real one; nil: a network in memory
}

func newSite(t *testing.T, o setup) *site {
	t.Helper()
	if o.store == nil {
		o.store = memstore.New()
	}
	tracker, err := track.New(o.store, o.presence)
	noError(t, err)
	if o.feeds != nil {
		o.handlers.Feeds = o.feeds(tracker)
	}
	s := &site{t: t, store: o.store, tracker: tracker, handler: handlers.New(tracker, o.handlers)}
	if o.made != nil {
		o.made(s.handler)
	}
	handler := http.Handler(s.handler)
	if !o.strange {
		handler = identify(handler)
	}
	if o.wrap != nil {
		handler = o.wrap(handler)
	}
	s.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	if o.server != nil {
		o.server(s.server)
	}
	listener := o.listener
	if listener == nil {
		network := pipes.New()
		t.Cleanup(network.Close)
		listener, s.dial = network.Listen(), network.Dial
	} else {
		s.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, listener.Addr().Network(), listener.Addr().String())
		}
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.server.Serve(listener)
	}()
	transport := &http.Transport{DialContext: s.dial, DisableCompression: true}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
		s.server.Close()
		transport.CloseIdleConnections()
		<-served
		if err := s.handler.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		if o.listener == nil {
			time.Sleep(time.Second) // net/http closes some connections half a second late
		}
	})
	return s
}

// enter lets a user come to the site as from another node: at once, and as a diff of its own.
func (s *site) enter(u presence.User) {
	s.t.Helper()
	ops := []backend.Op{{Kind: backend.OpJoin, User: u, Holder: presence.Holder("elsewhere." + string(u.ID)), For: time.Hour}}
	if err := s.store.Apply(context.Background(), []backend.Batch{{Topic: presence.Site, Ops: ops}})[0].Err; err != nil {
		s.t.Fatal(err)
	}
}

// leave lets a user who came by enter leave, at once.
func (s *site) leave(id presence.UserID) {
	s.t.Helper()
	ops := []backend.Op{{Kind: backend.OpRelease, User: presence.User{ID: id}, Holder: presence.Holder("elsewhere." + string(id))}}
	if err := s.store.Apply(context.Background(), []backend.Batch{{Topic: presence.Site, Ops: ops}})[0].Err; err != nil {
		s.t.Fatal(err)
	}
}

// identify is the test's login: the header X-User names who asks, X-Guest the browser of a
// guest, and X-Device the device of a user.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-User")
		v := presence.Visitor{User: presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)}, Guest: r.Header.Get("X-Guest")}
		if device := r.Header.Get("X-Device"); device != "" {
			v.Device = presence.Device{ID: presence.DeviceID(device), Kind: presence.Desktop, Label: "Firefox on Linux"}
		}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

// A request is what a test asks of a site.
type request struct {
	method string // GET, if empty
	path   string // below /presence/
	user   string
	header map[string]string
	body   string
}

// do sends a request. The answer's body is the caller's to close.
func (s *site) do(r request) *http.Response {
	s.t.Helper()
	resp, err := s.try(s.t.Context(), r)
	noError(s.t, err)
	return resp
}

// try is do for a request that may be given up.
func (s *site) try(ctx context.Context, r request) (*http.Response, error) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, r.method, "http://forum.test/presence/"+r.path, strings.NewReader(r.body))
	noError(s.t, err)
	if r.user != "" {
		req.Header.Set("X-User", r.user)
	}
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	return s.client.Do(req)
}

// fetch sends a request and reads the whole answer.
func (s *site) fetch(r request) (*http.Response, string) {
	s.t.Helper()
	resp := s.do(r)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s: %v", r.path, err)
	}
	return resp, string(body)
}

// see records page views, one after the other, a second apart.
func (s *site) see(topic presence.Topic, users ...presence.UserID) {
	s.t.Helper()
	for _, id := range users {
		s.tracker.Seen(topic, presence.User{ID: id, Name: strings.ToUpper(string(id))}, presence.Device{})
		time.Sleep(time.Second)
	}
}

// sweep removes what has expired, and waits until the readers know.
func (s *site) sweep() {
	s.t.Helper()
	if _, err := s.tracker.Sweep(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
}

// names returns who is in a topic's roster, the newest first.
func (s *site) names(topic presence.Topic) string {
	s.t.Helper()
	view, err := s.tracker.View(s.t.Context(), topic)
	noError(s.t, err)
	var names []string
	for _, m := range view.Newest(100) {
		names = append(names, string(m.ID))
	}
	return strings.Join(names, " ")
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// anyTopic is the Authorize of a site that hides nothing.
func anyTopic(*http.Request, presence.Visitor, presence.Topic) bool { return true }

// keys returns the keys of a JSON object, for messages and comparisons.
func keys(m map[string]json.RawMessage) string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	return strings.Join(sorted(all), " ")
}

// wantFound fails unless exactly these findings were made, each so often.
func (s *site) wantFound(want map[presence.Finding]uint64) {
	s.t.Helper()
	got := make(map[presence.Finding]uint64)
	for _, d := range s.tracker.Staff().Diagnose() {
		got[d.Finding] = d.Times
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("got the findings %v, want %v", got, want)
	}
}
