package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A page of another site that has no TLS, and so neither Sec-Fetch-Site nor Origin in
// what its images ask for, is known by the Referer.
func TestForeignReferer(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		trusted := http.NewCrossOriginProtection()
		noError(t, trusted.AddTrustedOrigin("http://app.test"))
		s := newSite(t, setup{handlers: handlers.Config{CrossOrigin: trusted}})
		for _, referer := range []string{"http://evil.test/page", "https://evil.test", "http://forum.test.evil.test/"} {
			r := request{path: over.path, user: "alice", header: map[string]string{"Referer": referer}}
			for name, value := range handshake {
				r.header[name] = value
			}
			resp, body := s.fetch(r)
			wantProblem(t, resp, body, http.StatusForbidden)
		}
		if got := s.handler.Stats().Foreign; got != 3 {
			t.Errorf("got %d counted, want 3", got)
		}
		for _, referer := range []string{"http://forum.test/threads/1", "https://forum.test/", "http://app.test/", "not a page", "", "about:blank"} {
			over.open(s, request{path: over.path + "?", user: "alice", header: map[string]string{"Referer": referer}}, "").started(1).close()
		}
		if resp, _ := s.fetch(request{path: "roster", header: map[string]string{"Referer": "http://evil.test/"}}); resp.StatusCode != http.StatusOK {
			t.Errorf("a link to what only reads: got %d, want 200", resp.StatusCode)
		}
	})
}

// A handler that is mounted elsewhere than its prefix says so. Whoever asks for something
// else gets an ordinary answer, without a line in the log.
func TestWrongPrefix(t *testing.T) {
	long := "/" + strings.Repeat("%0a", 10_000) + "/events"
	for _, tt := range []struct {
		prefix, path string
		says         string // the 404 contains it
		found        bool
	}{
		{"", "/roster", "asked for /roster.", true},
		{"", "/live/events", "asked for /live/events.", true},
		{"", "/assets/presence.js", "paths under /presence/, ", true},
		{"/who", "/presence/ws", "paths under /who/, ", true},
		{"", long, long[:100] + "…", true},
		{"", "/presences/ws", "asked for /presences/ws.", true},
		{"", "/presence/nothing", "There is nothing at this path.", false},
		{"", "/presence/x/events", "There is nothing at this path.", false},
		{"", "/presence", "There is nothing at this path.", false},
		{"", "/favicon.ico", "paths under /presence/, ", false},
		{"", "/", "paths under /presence/, ", false},
		{"/", "/presence/roster", "There is nothing at this path.", false},
		{"/", "/wp-login.php", "There is nothing at this path.", false},
	} {
		bubble(t, tt.prefix+" "+tt.path[:min(20, len(tt.path))], func(t *testing.T) {
			log := new(logbook)
			cfg := log.config()
			cfg.Prefix = tt.prefix
			s := newSite(t, setup{presence: cfg})
			for range 3 {
				resp, err := s.client.Get("http://forum.test" + tt.path)
				noError(t, err)
				var p struct{ Detail string }
				if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != http.StatusNotFound || !strings.Contains(p.Detail, tt.says) || len(p.Detail) > 300 {
					t.Errorf("got %d %+v (%v), want 404 and %q", resp.StatusCode, p, err, tt.says)
				}
				resp.Body.Close()
			}
			if !tt.found {
				s.wantFound(nil)
				return
			}
			s.wantFound(map[presence.Finding]uint64{presence.WrongPrefix: 3})
			if got := log.count("finding=wrong-prefix path=/"); got != 1 || len(log.String()) > 1000 {
				t.Errorf("got %d lines (%d bytes) in the log, want a short one", got, len(log.String()))
			}
		})
	}
	onSite(t, setup{wrap: func(next http.Handler) http.Handler { return http.StripPrefix("/presence", next) }}, func(t *testing.T, s *site) {
		resp, body := s.fetch(request{path: "events?topic=site"})
		if wantProblem(t, resp, body, http.StatusNotFound); !strings.Contains(body, "http.StripPrefix") {
			t.Errorf("got %s, want http.StripPrefix in it", body)
		}
		s.wantFound(map[presence.Finding]uint64{presence.WrongPrefix: 1})
	})
}

// Middleware may add a slash to the end of each path, as Echo's AddTrailingSlash does. The endpoints work all the same.
func TestSlashAtTheEnd(t *testing.T) {
	slashed := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path += "/"
			next.ServeHTTP(w, r)
		})
	}
	for _, before := range []bool{true, false} { // before Beats, and after
		over(t, allTransports, func(t *testing.T, over transport) {
			o := fronted(setup{handlers: handlers.Config{Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Path", r.URL.Path)
			})}})
			if front := o.wrap; before {
				o.wrap = func(next http.Handler) http.Handler { return slashed(front(next)) }
			} else {
				o.wrap = func(next http.Handler) http.Handler { return front(slashed(next)) }
			}
			s := newSite(t, o)
			l := over.open(s, request{path: over.path + "?beat=1&topic=site", user: "alice"}, "").started(1)
			defer l.close()
			if resp, body := s.fetch(request{path: "assets/presence.css"}); resp.Header.Get("X-Path") != "/assets/presence.css" {
				t.Errorf("got %d (%s) for a style", resp.StatusCode, body)
			}
			if resp, body := s.fetch(says("beat", "", "a~b")); resp.StatusCode != http.StatusGone {
				t.Errorf("got %d (%s) for a beat with a made-up token, want 410", resp.StatusCode, body)
			}
			if resp, _ := s.fetch(request{path: "roster//"}); resp.StatusCode != http.StatusNotFound {
				t.Errorf("got %d for three slashes, want 404", resp.StatusCode)
			}
			s.wantFound(nil)
		})
	}
}
