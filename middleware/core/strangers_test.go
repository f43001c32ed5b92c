package core_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/presence"
)

// A site that never has a user is told once, since presence may stand before the sessions.
func TestNoUser(t *testing.T) {
	for name, tt := range map[string]struct {
		userAt int // the page view that a user has; 0: none
		path   string
		accept string
		want   bool
	}{
		"guests alone":          {0, "/", "text/html", true},
		"a user at last":        {10, "/", "text/html", false},
		"a user at once":        {1, "/", "text/html", false},
		"a user after all that": {11, "/", "text/html", true},
		"no page views":         {0, "/site.css", "text/html", false},
		"a program":             {0, "/", "*/*", true},
		"a health check":        {0, "/healthz", "*/*", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.handle("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
				for i := range 200 {
					user := ""
					if i+1 == tt.userAt {
						user = "alice"
					}
					b := s.browser(user)
					b.header.Set("Accept", tt.accept)
					b.get(tt.path)
				}
				var found uint64
				for _, d := range s.tracker.Staff().Diagnose() {
					if d.Finding == presence.NoUser {
						found += d.Times
					}
				}
				if want := map[bool]uint64{true: 1}[tt.want]; found != want {
					t.Errorf("found %d times, want %d", found, want)
				}
			})
		})
	}
}
