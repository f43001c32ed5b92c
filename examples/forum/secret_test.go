package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

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
			a, b := start(t, tt.a...), start(t, tt.b...)
			token := a.visitor(t).stream("topic=site").connection
			beat, err := json.Marshal(map[string]string{"connection": token})
			if err != nil {
				t.Fatal(err)
			}
			if res := b.visitor(t).do(http.MethodPost, "/presence/beat", "application/json", string(beat)); res.status != tt.want {
				t.Errorf("got %d for the token %q of another forum, want %d", res.status, token, tt.want)
			}
		})
	}
}

// TestInvisibleOutlivesTheForum: a forum in memory that was started again knows
// nothing, and announces nobody whose browser remembers better.
func TestInvisibleOutlivesTheForum(t *testing.T) {
	t.Parallel()
	addr := redistest.FreeAddr(t)
	first := start(t, "-addr", addr)
	alice, bob := first.user(t, "Alice"), first.user(t, "Bob")
	alice.get("/")
	set := func(header http.Header) []string {
		return slices.DeleteFunc(slices.Clone(header.Values("Set-Cookie")), func(line string) bool {
			return !strings.HasPrefix(line, "presence_status=")
		})
	}
	if got := set(alice.post("/status", url.Values{"status": {"invisible"}}).header); len(got) != 1 {
		t.Fatalf("got %q with the form's answer, want one cookie", got)
	}
	if got := set(bob.do(http.MethodPut, "/presence/status", "application/json", `{"status":"invisible"}`).header); len(got) != 1 {
		t.Fatalf("got %q with the endpoint's answer, want one cookie", got)
	}
	elsewhere := first.user(t, "Alice") // a browser that only streams
	elsewhere.stream("topic=site")
	address, err := url.Parse(first.url)
	if err != nil {
		t.Fatal(err)
	}
	if cookies := elsewhere.client.Jar.Cookies(address); !slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return c.Name == "presence_status" }) {
		t.Errorf("got %v with a stream, want the status among them", cookies)
	}
	bob.post("/logout", nil)
	first.stop(t, syscall.SIGTERM)

	second := start(t, "-addr", addr)
	second.ready(t)
	watcher := second.visitor(t).stream("topic=site")
	bob.post("/login", url.Values{"name": {"Bob"}})
	if page := alice.get("/online").body; !strings.Contains(page, `value="invisible" aria-current="true"`) {
		t.Errorf("want a menu that says invisible\n%s", page)
	}
	bob.get("/")
	alice.stream("topic=site&topic=thread:1")
	bob.stream("topic=site")
	second.user(t, "Carol").stream("topic=site")
	watcher.until("carol alone to come", func(e event) bool {
		for _, id := range []string{"alice", "bob"} {
			if has(e.Users, id) || has(e.Joins, id) {
				t.Errorf("%s is announced, and chose to be invisible", id)
			}
		}
		return has(e.Joins, "carol")
	})
	if users := alice.roster().Users; len(users) != 1 {
		t.Errorf("got %v in the roster, want carol alone", users)
	}
}
