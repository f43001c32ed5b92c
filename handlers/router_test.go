package handlers_test

import (
	"net/http"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
)

// A page of another site that has no TLS, and so neither Sec-Fetch-Site nor Origin in
// what its images ask for, is known by the Referer.
func TestForeignReferer(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		trusted := http.NewCrossOriginProtection()
		if err := trusted.AddTrustedOrigin("http://app.test"); err != nil {
			t.Fatal(err)
		}
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
