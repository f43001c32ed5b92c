package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// The page of staff opens for the users that the flag names, and the forum's pages lead
// them there. Others get a page of the forum's, which says why.
func TestStaffPage(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t, "-staff", "zoe")
	zoe, bob, guest := f.User(t, "Zoe"), f.User(t, "Bob"), f.Visitor(t)
	if res := zoe.Get("/staff"); res.Status != 200 {
		t.Errorf("staff: got %d, want 200", res.Status)
	}
	for want, res := range map[int]forumtest.Response{401: guest.Get("/staff"), 403: bob.Get("/staff")} {
		if res.Status != want || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(res.Body, "for the forum’s staff") {
			t.Errorf("got %d, want %d and a page\n%s", res.Status, want, res.Body)
		}
	}
	const link = `<a href="/staff">`
	for path, v := range map[string]*forumtest.Visitor{"/": guest, "/online": bob} {
		if strings.Contains(v.Get(path).Body, link) {
			t.Errorf("%s of others leads to /staff", path)
		}
	}
	if page := zoe.Get("/"); !strings.Contains(page.Body, link) {
		t.Errorf("staff: want a link to /staff\n%s", page.Body)
	}
	reset := url.Values{"do": {"reset"}, "topic": {"site"}}
	for want, res := range map[int]forumtest.Response{401: guest.Post("/staff", reset), 403: bob.Post("/staff", reset), 303: zoe.Post("/staff", reset)} {
		if res.Status != want {
			t.Errorf("reset: got %d, want %d", res.Status, want)
		}
	}
}
