package core_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
)

// Before there is consent no response sets a cookie, and guests count by their streams alone. Users count.
func TestConsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agreed := func(*http.Request) bool { return false }
		s := newSite(t, func(c *nethttp.Config) { c.Consent = func(r *http.Request) bool { return agreed(r) } })
		for _, user := range []string{"", "alice"} {
			b := s.browser(user)
			for _, path := range []string{"/", "/presence/events", "/", "/threads/1"} {
				if res := b.get(path); len(res.Header().Values("Set-Cookie")) > 0 {
					t.Errorf("%q at %s: got cookies %q before there is consent", user, path, res.Header().Values("Set-Cookie"))
				}
				if passing := user == "" && path == "/presence/events"; s.visitor.Guest != "" || passing != (s.visitor.Passing != "") {
					t.Errorf("%q at %s: got visitor %+v, want none with an id, and a passing guest at a stream", user, path, s.visitor)
				}
			}
		}
		time.Sleep(time.Second)
		if got, want := strings.Join(s.store.take(), " "), "alice"; got != want {
			t.Errorf("got page views of %q, want %q", got, want)
		}
		agreed = func(*http.Request) bool { panic("no consent manager") }
		if res := s.browser("").get("/"); len(res.Header().Values("Set-Cookie")) > 0 || !strings.Contains(s.logs.String(), "Consent of the middleware panicked") {
			t.Errorf("after a panic: got cookies %q and the log %s, want none and a line", res.Header().Values("Set-Cookie"), s.logs)
		}
		agreed = func(*http.Request) bool { return true }
		if res := s.browser("").get("/"); len(res.Header().Values("Set-Cookie")) != 1 {
			t.Errorf("got cookies %q once there is consent, want one", res.Header().Values("Set-Cookie"))
		}
	})
}
