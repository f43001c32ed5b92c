package core_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestWhatIsAPageView(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := make(http.Header)
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, tt := range []struct {
		name, method, path string
		header             http.Header
		want               bool
	}{
		{"a page", "GET", "/threads/1", nil, true},
		{"the front page", "GET", "/", nil, true},
		{"as a browser asks", "GET", "/", header("Sec-Fetch-Dest", "document", "Accept", "text/html,*/*;q=0.8"), true},
		{"in a frame", "GET", "/", header("Sec-Fetch-Dest", "iframe"), true},
		{"by a script that loads pages", "GET", "/threads/1", header("Sec-Fetch-Dest", "empty"), true},
		{"a document called like a picture", "GET", "/wiki/File:Cat.jpg", header("Sec-Fetch-Dest", "document"), true},
		{"a name with a dot", "GET", "/u/jane.doe", nil, true},
		{"a path that only begins like the prefix", "GET", "/presence-of-mind", nil, true},

		{"HEAD", "HEAD", "/", nil, false},
		{"OPTIONS", "OPTIONS", "/", nil, false},
		{"POST", "POST", "/", nil, false},
		{"PUT", "PUT", "/", nil, false},

		{"prefetch", "GET", "/", header("Sec-Purpose", "prefetch"), false},
		{"prefetch of a document", "GET", "/", header("Sec-Purpose", "prefetch", "Sec-Fetch-Dest", "document"), false},
		{"prerender", "GET", "/", header("Sec-Purpose", "prefetch;prerender"), false},
		{"prefetch, as it was", "GET", "/", header("Purpose", "prefetch"), false},
		{"preview", "GET", "/", header("X-Purpose", "preview"), false},
		{"prefetch by Firefox", "GET", "/", header("X-Moz", "prefetch"), false},

		{"script", "GET", "/app", header("Sec-Fetch-Dest", "script"), false},
		{"style", "GET", "/app", header("Sec-Fetch-Dest", "style"), false},
		{"image", "GET", "/avatar", header("Sec-Fetch-Dest", "image"), false},
		{"font", "GET", "/font", header("Sec-Fetch-Dest", "font"), false},
		{"service worker", "GET", "/worker", header("Sec-Fetch-Dest", "serviceworker"), false},
		{"style by its name", "GET", "/static/site.css", nil, false},
		{"picture by its name", "GET", "/CAT.JPG", nil, false},
		{"icon by its name", "GET", "/favicon.ico", nil, false},
		{"a script's fetch of data", "GET", "/threads.json", header("Sec-Fetch-Dest", "empty"), false},

		{"WebSocket", "GET", "/chat", header("Upgrade", "WebSocket", "Connection", "Upgrade"), false},
		{"WebSocket, as a browser asks", "GET", "/chat", header("Sec-Fetch-Dest", "websocket"), false},
		{"event stream", "GET", "/news", header("Accept", "text/event-stream"), false},
		{"event stream, as a browser asks", "GET", "/news", header("Accept", "text/event-stream", "Sec-Fetch-Dest", "empty"), false},

		{"the prefix", "GET", "/presence", nil, false},
		{"the roster", "GET", "/presence/roster", nil, false},
		{"the widget", "GET", "/presence/widget", nil, false},
		{"a beat", "POST", "/presence/beat", nil, false},
		{"events", "GET", "/presence/events", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				b := s.browser("alice")
				if tt.header != nil {
					b.header = tt.header
				}
				b.do(tt.method, tt.path)
				if tt.want {
					s.expect("alice")
				} else {
					s.expect()
				}
				if got := s.visitor.User.ID; got != "alice" && tt.name != "a beat" {
					t.Errorf("got visitor %q in the context, want alice", got)
				}
				guest := s.browser("")
				guest.header = b.header
				if guest.do(tt.method, tt.path); len(guest.set) == 1 != (tt.want || tt.path == "/presence/events") {
					t.Errorf("got %v set for a guest, want a cookie: %t", guest.set, tt.want)
				}
			})
		})
	}
}

// All paths below the prefix are endpoints. At the root only the endpoints' own names are, and
// stand beside the site's pages.
func TestPageViewsBesideThePrefix(t *testing.T) {
	for prefix, paths := range map[string]map[string]bool{
		"/live/who": {"/live/who/roster": false, "/live/who/x": false, "/presence/roster": true},
		"/": {
			"/": true, "/rosters": true, "/users/5": true, "/presence/roster": true, "/assets": true,
			"/roster": false, "/users": false, "/events": false, "/ws": false, "/poll": false,
			"/widget": false, "/assets/rollcall.0a1b2": false,
		},
	} {
		for path, want := range paths {
			synctest.Test(t, func(t *testing.T) {
				s := newNodeWith(t, memstore.New(), track.Config{Prefix: prefix}, nil)
				s.browser("alice").get(path)
				if got := len(s.recorded()) == 1; got != want {
					t.Errorf("prefix %s, %s: recorded: got %t, want %t", prefix, path, got, want)
				}
			})
		}
	}
}

// A request for a stream at the root has the next page view recorded.
func TestStreamAtTheRoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNodeWith(t, memstore.New(), track.Config{Prefix: "/"}, nil)
		b := s.browser("alice")
		b.get("/")
		s.expect("alice")
		b.get("/")
		s.expect()
		b.get("/events")
		b.get("/")
		s.expect("alice")
	})
}

func TestTopicIsTheSitesChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) { c.Topic = "blog" })
		s.browser("alice").get("/")
		s.expect("alice")
		for topic, want := range map[presence.Topic]int{"blog": 1, presence.Site: 0} {
			view, err := s.tracker.View(t.Context(), topic)
			if err != nil {
				t.Fatal(err)
			}
			if view.Total != want {
				t.Errorf("got %d online in %s, want %d", view.Total, topic, want)
			}
		}
	})
}

// A page view is what a page answers. Nothing else is recorded or sets a cookie.
func TestAnswersThatAreNoPages(t *testing.T) {
	const browser, tool = "text/html,application/xhtml+xml", "*/*"
	for _, tt := range []struct {
		accept, kind string
		status       int // 0: none is written
		body         string
		page         bool
	}{
		{tool, "text/html; charset=utf-8", 200, "", true},
		{tool, "TEXT/HTML", 0, "x", true},
		{tool, "application/xhtml+xml", 200, "x", true},
		{tool, "text/html", 303, "x", true},
		{tool, "text/html", 399, "x", true},
		{browser, "text/html", 400, "x", false},
		{browser, "text/html", 404, "x", false},
		{browser, "text/html", 500, "x", false},
		{browser, "text/plain; charset=utf-8", 200, "ok", false},
		{browser, "application/json", 200, "{}", false},
		{browser, "text/html-not", 200, "{}", false},
		{tool, "", 0, "<!doctype html><p>hello", true},
		{tool, "", 0, "\n<html><p>hello", true},
		{browser, "", 0, "ok", false},
		{browser, "", 0, `{"a":1}`, false},
		{browser, "", 0, "\n", true},
		{tool, "", 0, "\n", false},
		{browser, "", 304, "", true},
		{tool, "", 304, "", false},
		{browser, "", 200, "", true},
		{tool, "", 200, "", false},
		{browser, "", 404, "", false},
		{"", "", 0, "", false},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.handle("/answer", func(w http.ResponseWriter, _ *http.Request) {
					if tt.kind != "" {
						w.Header().Set("Content-Type", tt.kind)
					}
					if tt.status != 0 {
						w.WriteHeader(tt.status)
					}
					if tt.body != "" {
						io.WriteString(w, tt.body)
					}
				})
				var want []string
				if tt.page {
					want = []string{"alice"}
				}
				for _, user := range []string{"alice", ""} {
					b := s.browser(user)
					b.header.Set("Accept", tt.accept)
					if b.get("/answer"); len(b.set) == 1 != tt.page {
						t.Errorf("user %q: got the cookies %v, want one: %t", user, b.set, tt.page)
					}
				}
				s.expect(want...)
			})
		})
	}
}

// A page that a browser gets, and that shows an element, waits for its stream. Programs and crawlers open none, and
// neither does a page without an element.
func TestPagesThatWaitForAStream(t *testing.T) {
	for _, tt := range []struct {
		name, dest, agent string
		element, streamed bool
		want              bool
	}{
		{"a page", "document", "Mozilla/5.0", true, false, true},
		{"in a frame", "iframe", "Mozilla/5.0", true, false, true},
		{"by a script", "empty", "Mozilla/5.0", true, false, false},
		{"by curl", "", "curl/8.0", true, false, false},
		{"by a crawler", "document", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true, false, false},
		{"without an element", "document", "Mozilla/5.0", false, false, false},
		{"after a stream", "document", "Mozilla/5.0", true, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.handle("/page", func(w http.ResponseWriter, r *http.Request) {
					presence.ShowHead(r.Context())
					if tt.element {
						presence.ShowElement(r.Context())
					}
					ok(w, r)
				})
				if tt.streamed {
					s.tracker.MeetStream()
				}
				b := s.browser("alice")
				b.header = http.Header{"Sec-Fetch-Dest": {tt.dest}, "User-Agent": {tt.agent}}
				b.get("/page")
				time.Sleep(2 * time.Minute)
				if got := strings.Contains(s.logs.String(), "finding=not-live pages=1 heads=1"); got != tt.want {
					t.Errorf("got %s, want not-live: %t", s.logs, tt.want)
				}
			})
		})
	}
}
