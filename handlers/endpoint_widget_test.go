package handlers_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestWidget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := newSite(t, setup{handlers: handlers.Config{
			Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				fmt.Fprint(w, r.Method, " ", r.URL)
			}),
		}})
		for path, want := range map[string]string{
			"widget":                    "GET /widget",
			"widget?topic=site&limit=5": "GET /widget?topic=site&limit=5",
			"assets/rollcall.0a1b2.js":  "GET /assets/rollcall.0a1b2.js",
			"assets/a/b.css":            "GET /assets/a/b.css",
		} {
			if _, got := s.fetch(request{path: path}); got != want {
				t.Errorf("%s: the widget was asked %q, want %q", path, got, want)
			}
		}
		asked = 0
		for path, status := range map[string]int{
			"widget?topic=":                 400,
			"widget?topic=staff":            403,
			"widget?topic=site&topic=site2": 400,
			"assets/../widget?topic=staff":  404,
		} {
			resp, body := s.fetch(request{path: path})
			wantProblem(t, resp, body, status)
		}
		if asked != 0 {
			t.Errorf("the widget was asked %d times for what may not be seen, want 0", asked)
		}
	})
}

func TestPrefix(t *testing.T) {
	for prefix, path := range map[string]string{
		"":              "/presence/roster",
		"/":             "/roster",
		"/presence":     "/presence/roster",
		"/presence/":    "/presence/roster",
		"who/is//here/": "/who/is/here/roster",
	} {
		onSite(t, setup{presence: track.Config{Prefix: prefix}}, func(t *testing.T, s *site) {
			for path, want := range map[string]int{path: 200, path + "x": 404, "/other" + path: 404, "/x": 404} {
				resp, err := s.client.Get("http://forum.test" + path)
				noError(t, err)
				resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("prefix %q: %s: got status %d, want %d", prefix, path, resp.StatusCode, want)
				}
			}
		})
	}
}
