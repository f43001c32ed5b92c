package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestContactsForm: a user is put on the list and taken off it, by the id or as people write
// the name.
func TestContactsForm(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice := f.User(t, "Alice")
	for _, tt := range []struct {
		user, do string
		status   int
		has, not string // on the page of contacts
	}{
		{"María José", "add", 303, `href="/people/mar%C3%ADa-jos%C3%A9"`, ""},
		{"maría-josé", "remove", 303, "", `href="/people/mar`},
		{"bob", "add", 303, `href="/people/bob"`, ""},
		{"bob", "add", 303, `href="/people/bob"`, ""},
		{"bob", "block", 303, `value="unblock"`, `value="remove"`},
		{"bob", "unblock", 303, "", `value="unblock"`},
		{"nobody-knows", "remove", 303, "", ""},
		{"a/b?c=<d>", "add", 303, `href="/people/a%2Fb%3Fc=%3Cd%3E"`, ""},
		{"", "add", 400, `role="alert"`, ""},
		{" ", "add", 400, `role="alert"`, ""},
		{"a\x00b", "add", 400, `role="alert"`, ""},
		{strings.Repeat("x", 129), "add", 400, `role="alert"`, ""},
		{"alice", "add", 400, "That is you", ""},
		{"Alice", "block", 400, "That is you", ""},
		{"bob", "", 400, `role="alert"`, ""},
		{"bob", "befriend", 400, `role="alert"`, ""},
	} {
		res := alice.Post("/contacts", url.Values{"user": {tt.user}, "do": {tt.do}})
		if res.Status != tt.status || tt.status == 303 && res.Header.Get("Location") != "/contacts" {
			t.Errorf("%s %q: got %d to %q, want %d", tt.do, tt.user, res.Status, res.Header.Get("Location"), tt.status)
		}
		page := res.Body
		if tt.status == 303 {
			page = alice.Get("/contacts").Body
		}
		if !strings.Contains(page, tt.has) || tt.not != "" && strings.Contains(page, tt.not) {
			t.Errorf("%s %q: want %q on the page and not %q\n%s", tt.do, tt.user, tt.has, tt.not, page)
		}
	}
	guest := f.Visitor(t)
	for _, res := range []forumtest.Response{guest.Get("/contacts"), guest.Post("/contacts", url.Values{"user": {"bob"}, "do": {"add"}})} {
		if res.Status != http.StatusUnauthorized {
			t.Errorf("a guest: got %d, want 401", res.Status)
		}
	}
}

// TestPersonPage: the page of a user says what its reader may know, and does not tell who
// exists.
func TestPersonPage(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice, bob, guest := f.User(t, "Alice"), f.User(t, "Bob"), f.Visitor(t)
	alice.Stream("topic=site")
	wants := func(who *forumtest.Visitor, status string) {
		t.Helper()
		var page string
		forumtest.Await(t, "alice to be "+status, func() bool {
			page = who.Get("/people/alice").Body
			return strings.Contains(page, `class="presence-dot" data-status="`+status+`"`)
		})
	}
	wants(guest, "online")
	wants(bob, "online")
	if page := bob.Get("/people/alice").Body; !strings.Contains(page, `value="add"`) || !strings.Contains(page, `value="block"`) {
		t.Errorf("want forms to add and to block\n%s", page)
	}
	if page := alice.Get("/people/alice").Body; strings.Contains(page, `value="block"`) {
		t.Errorf("want no form to block oneself\n%s", page)
	}
	if page := f.Visitor(t).Get("/").Body; !strings.Contains(page, `href="/people/alice"`) {
		t.Errorf("want names that lead to their pages\n%s", page)
	}

	alice.Post("/settings", url.Values{"online": {"contacts"}})
	wants(guest, "offline")
	wants(bob, "offline") // bob's own list opens nothing
	bob.Post("/contacts", url.Values{"user": {"alice"}, "do": {"add"}})
	wants(bob, "offline")
	alice.Post("/contacts", url.Values{"user": {"bob"}, "do": {"add"}})
	wants(bob, "online")
	alice.Post("/contacts", url.Values{"user": {"bob"}, "do": {"block"}})
	wants(bob, "offline")

	bob.Post("/contacts", url.Values{"user": {"alice"}, "do": {"remove"}})
	hidden, unknown := bob.Get("/people/alice"), bob.Get("/people/alicf")
	if got, want := hidden.Body, strings.ReplaceAll(strings.ReplaceAll(unknown.Body, "alicf", "alice"), "Alicf", "Alice"); got != want {
		t.Errorf("who is hidden: got\n%s\nwant what it is for who was never here:\n%s", got, want)
	}
	if page := bob.Get("/people/a%2Fb%C3%A9").Body; !strings.Contains(page, "<bdi>a/bé</bdi>") {
		t.Errorf("want the page of a/bé\n%s", page)
	}
	for _, id := range []string{"a%00b", "%ff", strings.Repeat("x", 129), ""} {
		if res := bob.Get("/people/" + id); res.Status != http.StatusNotFound {
			t.Errorf("/people/%s: got %d, want 404", id, res.Status)
		}
	}
}
