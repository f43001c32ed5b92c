package templates_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

var partSource = regexp.MustCompile(`<presence-part [^>]*src="/presence([^"]*)"`)

// What the script asks for is what the page has: the source of each part answers with its
// content, for the same visitor.
func TestPartsAnswerAsRendered(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		placesOf(s)
		s.tracker.SeenBot(presence.Site, "Googlebot", "1")
		time.Sleep(2 * time.Second)
		for _, view := range []string{
			`{{recentlyActive "site"}}`, `{{recentlyActive "site" "max" 2 "within" "24h"}}`, `{{mostOnline "site"}}`,
			`{{where}}`, `{{where "max" 2}}`, `{{whosOnline "site"}}`,
		} {
			for _, visitor := range []presence.User{guest, {ID: "a1"}} {
				page := s.page(view, visitor)
				source := strings.ReplaceAll(partSource.FindStringSubmatch(page)[1], "&amp;", "&")
				w := httptest.NewRecorder()
				r := requestOf(visitor)
				r.URL.Path, r.URL.RawQuery, _ = strings.Cut(source, "?")
				s.views("").Handler().ServeHTTP(w, r)
				if got, want := w.Body.String(), inner(page); w.Code != 200 || got != want || got == "" {
					t.Errorf("%s of %q: got %d\n%s\nwant\n%s", source, visitor.ID, w.Code, got, want)
				}
				if got, want := w.Header().Get("Cache-Control"), "private, no-cache"; got != want {
					t.Errorf("%s: got Cache-Control %q, want %q", source, got, want)
				}
			}
		}
	})
}

// A part that is as the browser has it is not sent again.
func TestPartsAreValidated(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		s.see(presence.Site, user("bob"))
		const target = "/widget?part=recent&topic=site"
		first := s.get("GET", target)
		etag := first.Header.Get("ETag")
		if body(t, first); etag == "" {
			t.Fatal("got no ETag")
		}
		for _, sent := range []string{etag, "W/" + etag} { // a proxy that packs makes it weak
			again := s.get("GET", target, "If-None-Match", sent)
			if got := body(t, again); again.StatusCode != http.StatusNotModified || got != "" || again.Header.Get("ETag") != etag {
				t.Errorf("got %d, %q and %q, want 304 and the same ETag", again.StatusCode, got, again.Header.Get("ETag"))
			}
		}
		s.see(presence.Site, user("carol"))
		time.Sleep(16 * time.Second)
		s.get("GET", target)
		time.Sleep(time.Second)
		if again := s.get("GET", target, "If-None-Match", etag); again.StatusCode != http.StatusOK || !strings.Contains(body(t, again), "carol") {
			t.Errorf("after a change: got %d, want 200 and carol", again.StatusCode)
		}
	})
}

func TestPartsRefuseBadRequests(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		for target, status := range map[string]int{
			"/widget?part=recent&topic=site":                   200,
			"/widget?part=recent&topic=site&max=9999999":       200,
			"/widget?part=recent&topic=site&max=-1":            200,
			"/widget?part=recent":                              200,
			"/widget?part=":                                    400,
			"/widget?part=all&topic=site":                      400,
			"/widget?part=recent&topic=../x":                   400,
			"/widget?part=recent&topic=site&max=many":          400,
			"/widget?part=recent&topic=site&within=1h":         400,
			"/widget?part=about&topic=site&within=24h&max=1e3": 400,
		} {
			if r := s.get("GET", target); r.StatusCode != status {
				t.Errorf("%s: got %d, want %d\n%s", target, r.StatusCode, status, body(t, r))
			}
		}
	})
}
