package core_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
)

// The site is not asked who wants a script or sends a beat: the answer does not depend on it.
func TestIdentifyIsNotAskedInVain(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/presence/assets/presence.0123456789abcdef.js", 0},
		{"GET", "/presence/assets/presence.0123456789abcdef.js/", 0},
		{"POST", "/presence/beat", 0},
		{"POST", "/presence/beat/", 0},
		{"POST", "/presence/leave", 0},
		{"POST", "/presence/beat?joined=1", 1},
		{"GET", "/presence/events", 1},
		{"GET", "/presence/beat", 1},
		{"GET", "/assets/site.js", 1},
		{"GET", "/", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			s := newSite(t, func(c *nethttp.Config) {
				c.Identify = func(r *http.Request) (presence.User, bool) { asked++; return byHeader(r) }
			})
			unidentified := false
			s.handle("/presence/", func(_ http.ResponseWriter, r *http.Request) { unidentified = presence.Unidentified(r.Context()) })
			b := s.browser("alice")
			if b.do(tt.method, tt.path); asked != tt.want || unidentified != (tt.want == 0) {
				t.Errorf("%s %s: identify was asked %d times, and unidentified is %t", tt.method, tt.path, asked, unidentified)
			}
			if tt.want == 0 && len(b.set) > 0 {
				t.Errorf("%s %s: got the cookies %v", tt.method, tt.path, b.set)
			}
		})
	}
}
