package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// TestSecret: a token is good at every forum with the same secret, given or kept in
// their Redis, and at no other.
func TestSecret(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a secret of more than 64 bytes ", 3)
	shared := "unix://" + redistest.Start(t).Socket
	other := "unix://" + redistest.Start(t).Socket
	for _, tt := range []struct {
		name string
		a, b []string
		want int
	}{
		{"the same secret", []string{"-secret", "sixteen letters!"}, []string{"-secret", "sixteen letters!"}, http.StatusNoContent},
		{"the same long secret", []string{"-secret", long + "x"}, []string{"-secret", long + "x"}, http.StatusNoContent},
		{"another", []string{"-secret", "sixteen letters!"}, []string{"-secret", "sixteen letters."}, http.StatusGone},
		{"another long one", []string{"-secret", long + "x"}, []string{"-secret", long + "y"}, http.StatusGone},
		{"random", nil, nil, http.StatusGone},
		{"that of their Redis", []string{"-redis", shared}, []string{"-redis", shared}, http.StatusNoContent},
		{"those of two", []string{"-redis", shared}, []string{"-redis", other}, http.StatusGone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := forumtest.Start(t, tt.a...), forumtest.Start(t, tt.b...)
			token := a.Visitor(t).Stream("topic=site").Connection
			beat, err := json.Marshal(map[string]string{"connection": token})
			if err != nil {
				t.Fatal(err)
			}
			if res := b.Visitor(t).Do(http.MethodPost, "/presence/beat", "application/json", string(beat)); res.Status != tt.want {
				t.Errorf("got %d for the token %q of another forum, want %d", res.Status, token, tt.want)
			}
		})
	}
}

// TestInvisibleOutlivesTheForum: a forum in memory that was started again knows
// nothing, and announces nobody whose browser remembers better.
func TestInvisibleOutlivesTheForum(t *testing.T) {
	t.Parallel()
	addr := need.FreeAddr(t)
	first := forumtest.Start(t, "-addr", addr)
	alice, bob := first.User(t, "Alice"), first.User(t, "Bob")
	alice.Get("/")
	set := func(header http.Header) []string {
		return slices.DeleteFunc(slices.Clone(header.Values("Set-Cookie")), func(line string) bool {
			return !strings.HasPrefix(line, "presence_status=")
		})
	}
	if got := set(alice.Post("/status", url.Values{"status": {"invisible"}}).Header); len(got) != 1 {
		t.Fatalf("got %q with the form's answer, want one cookie", got)
	}
	if got := set(bob.Do(http.MethodPut, "/presence/status", "application/json", `{"status":"invisible"}`).Header); len(got) != 1 {
		t.Fatalf("got %q with the endpoint's answer, want one cookie", got)
	}
	elsewhere := first.User(t, "Alice") // a browser that only streams
	elsewhere.Stream("topic=site")
	address, err := url.Parse(first.URL)
	if err != nil {
		t.Fatal(err)
	}
	if cookies := elsewhere.Client.Jar.Cookies(address); !slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return c.Name == "presence_status" }) {
		t.Errorf("got %v with a stream, want the status among them", cookies)
	}
	bob.Post("/logout", nil)
	first.Stop(t, syscall.SIGTERM)

	second := forumtest.Start(t, "-addr", addr)
	second.Ready(t)
	watcher := second.Visitor(t).Stream("topic=site")
	bob.Post("/login", url.Values{"name": {"Bob"}})
	if page := alice.Get("/online").Body; !strings.Contains(page, `value="invisible" aria-current="true"`) {
		t.Errorf("want a menu that says invisible\n%s", page)
	}
	bob.Get("/")
	alice.Stream("topic=site&topic=thread:1")
	bob.Stream("topic=site")
	second.User(t, "Carol").Stream("topic=site")
	watcher.Until("carol alone to come", func(e forumtest.Event) bool {
		for _, id := range []string{"alice", "bob"} {
			if forumtest.Has(e.Users, id) || forumtest.Has(e.Joins, id) {
				t.Errorf("%s is announced, and chose to be invisible", id)
			}
		}
		return forumtest.Has(e.Joins, "carol")
	})
	if users := alice.Roster().Users; len(users) != 1 {
		t.Errorf("got %v in the roster, want carol alone", users)
	}
}
