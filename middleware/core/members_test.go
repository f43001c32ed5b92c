package core_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
)

// On a site of members guests do not count, and get no cookie.
func TestMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) { c.Members = true })
		guest := s.browser("")
		for _, path := range []string{"/", "/presence/events", "/", "/threads/1"} {
			if res := guest.get(path); len(res.Header().Values("Set-Cookie")) > 0 || s.visitor.Guest != "" {
				t.Errorf("%s: got cookies %q and the guest %q, want none", path, res.Header().Values("Set-Cookie"), s.visitor.Guest)
			}
		}
		s.browser("alice").get("/")
		time.Sleep(time.Second)
		if got := strings.Join(s.store.take(), " "); got != "alice" {
			t.Errorf("got page views of %q, want Alice's", got)
		}
	})
}
