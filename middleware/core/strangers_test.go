package core_test

import (
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/presence"
)

// A site that never has a user is told once, since presence may stand before the sessions.
func TestNoUser(t *testing.T) {
	for name, tt := range map[string]struct {
		userAt int // the page view that a user has; 0: none
		path   string
		want   bool
	}{
		"guests alone":          {0, "/", true},
		"a user at last":        {50, "/", false},
		"a user at once":        {1, "/", false},
		"a user after all that": {51, "/", true},
		"no page views":         {0, "/site.css", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				for i := range 200 {
					user := ""
					if i+1 == tt.userAt {
						user = "alice"
					}
					s.browser(user).get(tt.path)
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
