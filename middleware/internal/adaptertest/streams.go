package adaptertest

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// patience is how long a stream may take to deliver an event, on a busy machine.
const patience = time.Minute

// testStreams tests that streams pass through the framework.
func testStreams(t *testing.T, a Adapter) {
	sites := []Site{{}}
	for _, other := range a.Streaming {
		sites = append(sites, Site{Before: other})
	}
	for _, site := range sites {
		t.Run("outlive the server's timeouts, "+site.name(), func(t *testing.T) {
			inWorld(t, a, site, followForAMinute)
		})
		t.Run("over TCP, "+site.name(), func(t *testing.T) { overTCP(t, a, site) })
	}
	t.Run("over a WebSocket", func(t *testing.T) { overWebSocket(t, a) })
	t.Run("over HTTP/2", func(t *testing.T) { overHTTP2(t, a) })
}

// A Serve serves a site as a framework's own server does, until the context ends.
type Serve = func(ctx context.Context, site http.Handler, l net.Listener) error

// RunServer fails the test unless streams outlive the timeouts of a framework's server.
func RunServer(t *testing.T, a Adapter, serve Serve) {
	servedBy(t, a, Site{}, serve, followForAMinute)
}

func followForAMinute(w *world) {
	transport := &http.Transport{DialContext: w.network.Dial}
	defer transport.CloseIdleConnections()
	w.follow(transport, "http://site", time.Minute)
}

// follow opens a stream as Alice, and fails the test unless it tells of Bob after a time.
func (w *world) follow(by http.RoundTripper, base string, d time.Duration) {
	t := w.t
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d+patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/presence/events?topic=site", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-User", "alice")
	r.Header.Set("Accept-Encoding", "gzip")
	res, err := by.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("got %d %v %s, want a stream", res.StatusCode, res.Header, body)
	}
	var from io.Reader = res.Body
	if res.Header.Get("Content-Encoding") == "gzip" {
		if from, err = gzip.NewReader(res.Body); err != nil {
			t.Fatal(err)
		}
	}
	if len(res.Cookies()) != 0 {
		t.Errorf("got %v set for a user without a cookie, want nothing", res.Cookies())
	}
	events := make(chan string)
	go func() {
		defer close(events)
		for scan := bufio.NewScanner(from); scan.Scan(); {
			events <- scan.Text()
		}
	}()
	until := func(want string) {
		t.Helper()
		for line := range events {
			if strings.Contains(line, want) {
				return
			}
		}
		t.Fatalf("the stream has ended, want %s", want)
	}
	until(`"alice":{`)
	for timer := time.NewTimer(d); ; {
		select {
		case _, open := <-events: // heartbeats
			if !open {
				t.Fatalf("the stream has ended within %v", d)
			}
			continue
		case <-timer.C:
		}
		break
	}
	w.tracker.Seen(presence.Site, presence.User{ID: "bob"}, presence.Device{})
	until(`"bob":{`)
	res.Body.Close()
	for range events {
	}
}

// overTCP: on plain sockets the handler takes the connection from net/http.
func overTCP(t *testing.T, a Adapter, site Site) {
	w := newWorld(t, a, site)
	server := httptest.NewUnstartedServer(nil)
	server.Config = newServer(w.site)
	server.Start()
	defer w.end(server)
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	w.follow(transport, server.URL, time.Millisecond)
}

func overWebSocket(t *testing.T, a Adapter) {
	w := newWorld(t, a, Site{})
	server := httptest.NewUnstartedServer(nil)
	server.Config = newServer(w.site)
	server.Start()
	defer w.end(server)
	dialer := ws.Dialer{
		Protocols: []string{"presence.v1"},
		Header:    ws.HandshakeHeaderHTTP{"X-User": {"alice"}, "Origin": {server.URL}},
	}
	conn, early, _, err := dialer.Dial(t.Context(), strings.Replace(server.URL, "http", "ws", 1)+"/presence/ws?topic=site")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	var from io.Reader = conn
	if early != nil {
		from = early
	}
	until := func(want string) {
		t.Helper()
		for {
			text, err := wsutil.ReadServerText(struct {
				io.Reader
				io.Writer
			}{from, conn})
			if err != nil {
				t.Fatalf("%v, want %s", err, want)
			}
			if strings.Contains(string(text), want) {
				return
			}
		}
	}
	until(`"alice":{`)
	w.tracker.Seen(presence.Site, presence.User{ID: "bob"}, presence.Device{})
	until(`"bob":{`)
}

// overHTTP2: an answer cannot be hijacked, and the writer has other methods.
func overHTTP2(t *testing.T, a Adapter) {
	w := newWorld(t, a, Site{})
	server := httptest.NewUnstartedServer(w.site)
	server.EnableHTTP2 = true
	server.Config.ConnContext = handlers.ConnContext
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer w.end(server)
	transport := server.Client().Transport
	guest := w.browser("")
	for path, status := range a.Pages {
		clear(guest.cookies)
		p := guest.through(transport, server.URL, http.MethodGet, path, "")
		if p.status != status || (len(p.set) == 1) != p.isPage() || len(p.set) == 1 && !p.set[0].Secure {
			t.Errorf("%s: got %d and %v set, want %d and a secure cookie, if it is a page", path, p.status, p.set, status)
		}
	}
	w.follow(transport, server.URL, time.Millisecond)
}

// end closes a server and the tracker.
func (w *world) end(server *httptest.Server) {
	if err := w.tracker.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
	server.CloseClientConnections()
	server.Close()
}
