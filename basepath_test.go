package rollcall_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/presence"
)

// A site under a base path is live, whoever takes the base path off: nobody, http.StripPrefix
// around Wrap, or a proxy before the server.
func TestBasePath(t *testing.T) {
	strip := func(next http.Handler) http.Handler { return http.StripPrefix("/reader", next) }
	none := func(next http.Handler) http.Handler { return next }
	for name, tt := range map[string]struct {
		inside, proxy func(http.Handler) http.Handler
	}{
		"nobody":      {none, none},
		"StripPrefix": {strip, none},
		"a proxy":     {none, strip},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(syncbuf.Buffer)
			site, err := rollcall.New(identifyByCookie, rollcall.Config{BasePath: "reader/", Logger: newLogger(log), Views: parse(
				`<!doctype html><html lang="en"><title>t</title>{{presenceHead}}{{whosOnline "site"}}`)})
			if err != nil {
				t.Fatal(err)
			}
			page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "presence") {
					t.Errorf("the site got the request for %s", r.URL.Path)
				}
				site.Render(w, r, "page", nil)
			})
			server := httptest.NewUnstartedServer(nil)
			server.Config = site.Server("", tt.inside(site.Wrap(page)))
			server.Config.Handler = tt.proxy(server.Config.Handler)
			server.Start()
			t.Cleanup(server.Close)
			t.Cleanup(func() { _ = site.Close(t.Context()) })
			tab := browse.New(t)
			tab.Expect("/favicon.ico") // is outside of the site
			tab.Open(server.URL + "/reader/login")
			tab.Until(`document.cookie = "name=alice; path=/"`, "name=alice; path=/")
			tab.Open(server.URL + "/reader/")
			tab.Until(`document.querySelector("whos-online").dataset.live`, "on")
			connect(t, site, "bob")
			tab.Until(`document.querySelectorAll("whos-online [data-user]").length`, "2")
			if got := log.String(); strings.Contains(got, "finding=") {
				t.Errorf("got the log %s, want no finding", got)
			}
		})
	}
}

// The server answers beats in front, and gives the site its requests as they came.
func TestBasePathInFront(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{BasePath: "/reader"})
	front := site.Server("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.URL.EscapedPath()))
		presence.ReachMiddleware(r.Context())
	})).Handler
	for _, path := range []string{"/", "/reader/", "/presence/events", "/reader/presence/events", "/presence/a%2Fb"} {
		if got := get(t, front, path, "").Body.String(); got != path {
			t.Errorf("got %s, want %s", got, path)
		}
	}
	for _, path := range []string{"/presence/beat", "/reader/presence/beat"} {
		w := httptest.NewRecorder()
		front.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}")))
		if w.Code == http.StatusOK {
			t.Errorf("%s: got %q of the site, want an answer of the beats", path, w.Body)
		}
	}
}
