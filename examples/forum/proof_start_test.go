package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// What the forum says at its start holds no password, in whichever form the address
// of Redis is given.
func TestNoPasswordInErrors(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"default:s3cret@127.0.0.1:1", "default:s3cret@127.0.0.1", ":s3cret@127.0.0.1:1", "redis:/default:s3cret@127.0.0.1:1",
		"http://default:s3cret@127.0.0.1:1", "redis://default:s3cret@127.0.0.1:99999", "redis://default:s3cret@127.0.0.1:1/x", "redis://default:s3cret@:1:2",
		"redis://default:s3cret%@127.0.0.1:1", "redis://default:s3cret@127.0.0.1:1?unknown=s3cret", "unix://default:s3cret@/redis.sock,127.0.0.1:1",
		"127.0.0.1:1,unix://:s3cret@/redis.sock", "127.0.0.1:1,default:s3cret@127.0.0.1:2", "127.0.0.1:1,redis://default:s3cret@127.0.0.1:2/3", "rediss://default:s3cret@[::1:1",
	} {
		out, err := forumtest.Command(t.Context(), "-addr", "127.0.0.1:0", "-redis", address).CombinedOutput()
		if err == nil {
			t.Errorf("-redis %s: the forum ended with 0, want an error", address)
		}
		if strings.Contains(string(out), "s3cret") {
			t.Errorf("-redis %s: got %q, want no password in it", address, out)
		}
	}
}

// An asset of a version that this node does not have is the current one, not to be
// kept: a page may come from another version of the site.
func TestAssetOfAnotherVersion(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	guest := f.Visitor(t)
	names := regexp.MustCompile(`/presence/assets/[^"' >]+`).FindAllString(guest.Get("/").Body, -1)
	if len(names) == 0 {
		t.Fatal("the page names no asset")
	}
	for _, name := range names {
		current := guest.Get(name)
		parts := regexp.MustCompile(`^(.*[.-])([A-Za-z0-9_-]{6,})(\.[a-z]+)$`).FindStringSubmatch(name)
		if parts == nil {
			continue // it has no hash
		}
		other := guest.Get(parts[1] + strings.Repeat("0", len(parts[2])) + parts[3])
		if other.Status != http.StatusOK || other.Body != current.Body || other.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s of another version: got %d, Cache-Control %q, want 200, no-cache and the current content", name, other.Status, other.Header.Get("Cache-Control"))
		}
	}
	if res := guest.Get("/presence/assets/nothing.000000000000.js"); res.Status != http.StatusNotFound {
		t.Errorf("an asset of no known name: got %d, want 404", res.Status)
	}
}

// Names may have spaces, dots and apostrophes.
func TestNamesOfPeople(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	for name, id := range map[string]string{"María José": "maría-josé", "O'Neill": "o'neill", "J. R.  Hartley": "j.-r.-hartley"} {
		v := f.Visitor(t)
		if res := v.Post("/login", url.Values{"name": {name}}); res.Status != http.StatusSeeOther {
			t.Errorf("sign in as %q: got %d, want 303", name, res.Status)
			continue
		}
		v.Get("/")
		forumtest.Await(t, name, func() bool { return v.Roster().Users[id] != nil })
	}
	for _, name := range []string{" ", "a\nb", "<b>", "a\u202eb", strings.Repeat("a", 33)} {
		if res := f.Visitor(t).Post("/login", url.Values{"name": {name}}); res.Status != http.StatusBadRequest {
			t.Errorf("sign in as %q: got %d, want 400", name, res.Status)
		}
	}
}
