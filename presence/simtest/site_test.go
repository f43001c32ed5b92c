package simtest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/pipes"
	"github.com/rollcall-go/rollcall/presence"
)

// A site is the HTTP side of a process: its endpoints, on a network in memory.
type site struct {
	network   *pipes.Network
	server    *http.Server
	handler   *handlers.Handler
	transport *http.Transport
	open      context.Context // ends with the site
	end       context.CancelFunc
}

func (w *world) newSite(p *process) *site {
	s := &site{network: pipes.New(), handler: handlers.New(p.tracker, handlers.Config{
		Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true }, MaxRate: -1, Feeds: p.feeds,
	})}
	s.open, s.end = context.WithCancel(context.Background())
	s.server = &http.Server{Handler: identify(s.handler)}
	s.transport = &http.Transport{DialContext: s.dial, DisableCompression: true}
	w.running.Go(func() { _ = s.server.Serve(s.network.Listen()) })
	return s
}

// dial connects to the server until the site ends: a transport goes on to dial for a request that
// has ended.
func (s *site) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	return s.network.Dial(ctx, network, address)
}

// identify is the site's login: the header User says who asks.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := presence.Visitor{}
		if id := r.Header.Get("User"); id != "" {
			v = visitor(id)
		}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

// close ends the server, once all pages are closed.
func (s *site) close() {
	s.end()
	_ = s.server.Close()
	s.transport.CloseIdleConnections()
	_ = s.handler.Wait(context.Background())
}

// get asks one of the endpoints for what the page wants to read. The request ends with ctx, and
// after five seconds without an answer.
func (s *site) get(ctx context.Context, p *page, endpoint string, more url.Values) (*http.Response, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://site.test/presence/"+endpoint+"?"+p.query(more).Encode(), nil)
	if err != nil {
		panic(err)
	}
	if p.person != nil {
		r.Header.Set("User", p.person.id)
	}
	if endpoint == "events" {
		r.Header.Set("Last-Event-ID", string(p.resumes()))
	}
	late := time.AfterFunc(httpWait, cancel)
	resp, err := s.transport.RoundTrip(r)
	if !late.Stop() && err == nil {
		_ = resp.Body.Close()
		err = context.DeadlineExceeded
	}
	if err == nil && resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		err = fmt.Errorf("%s", resp.Status)
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return resp, cancel, nil
}

// httpWait is longer than the server waits for the store, and than any poll.
const httpWait = 10 * time.Second

// query returns the parameters of the page's stream.
func (p *page) query(more url.Values) url.Values {
	q := url.Values{"limit": {fmt.Sprint(p.limit)}, "v": {"1"}}
	if p.window > 0 {
		q = url.Values{"window": {fmt.Sprint(p.window)}, "v": {"1"}}
	}
	for _, topic := range p.asks() {
		q.Add("topic", string(topic))
	}
	if p.watchesPeople() {
		for _, id := range everybody() {
			q.Add("person", string(id))
		}
	}
	if p.person == nil {
		q.Set("observe", "1")
	}
	if p.beats {
		q.Set("beat", "1")
	}
	for name, values := range more {
		q[name] = values
	}
	return q
}

func visitor(id string) presence.Visitor {
	return presence.Visitor{
		User:   presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)},
		Device: presence.Device{ID: presence.DeviceID(id), Kind: presence.Desktop, Label: "Firefox on Linux"},
	}
}

// closeSites ends what is left of HTTP: net/http closes some connections half a second late.
func (w *world) closeSites() {
	for _, p := range w.all {
		if p.site != nil {
			p.site.close()
		}
	}
	if w.game.has(web) {
		time.Sleep(time.Second)
	}
}
