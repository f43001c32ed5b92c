package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

func TestStatusForm(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	watcher := f.Visitor(t).Stream("topic=site")
	alice := f.User(t, "Alice")
	alice.Get("/")
	watcher.Join("alice")
	for _, tt := range []struct {
		status   string
		code     int
		location string
	}{
		{"away", 303, "/threads/1"},
		{"invisible", 303, "/threads/1"},
		{"asleep", 400, ""},
		{"", 400, ""},
	} {
		res := alice.Post("/status", url.Values{"status": {tt.status}, "next": {"/threads/1"}})
		if got := res.Header.Get("Location"); res.Status != tt.code || got != tt.location {
			t.Errorf("%q: got %d to %q, want %d to %q", tt.status, res.Status, got, tt.code, tt.location)
		}
	}
	watcher.Leave("alice") // invisible to others, who is not to herself
	page := alice.Get("/online")
	if !strings.Contains(page.Body, `value="invisible" aria-current="true"`) || strings.Contains(page.Body, `data-user="alice"`) {
		t.Errorf("want a menu that says invisible, and nobody called alice in the list\n%s", page.Body)
	}
	if res := f.Visitor(t).Post("/status", url.Values{"status": {"away"}}); res.Status != http.StatusUnauthorized {
		t.Errorf("of a guest: got %d, want 401", res.Status)
	}
}
