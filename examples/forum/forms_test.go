package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestStatusFormRate: a form changes no status more often than a request may.
func TestStatusFormRate(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice := f.User(t, "Alice")
	alice.Get("/")
	begin, passed := time.Now(), 0
	for i := range 300 {
		status := []string{"away", "busy"}[i%2]
		res := alice.Post("/status", url.Values{"status": {status}, "next": {"/"}})
		switch res.Status {
		case http.StatusSeeOther:
			passed++
		case http.StatusTooManyRequests:
			wantTooMany(t, res)
		default:
			t.Fatalf("got %d, want 303 or 429", res.Status)
		}
	}
	if most := 5 + int(time.Since(begin)/time.Second) + 1; passed < 5 || passed > most {
		t.Errorf("got %d statuses set in %v, want 5 and one a second", passed, time.Since(begin))
	}
}

// TestSignInRate: forms of one address have a bound, whatever names they come from.
func TestSignInRate(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/login", "/logout"} {
		f := forumtest.Start(t)
		refused := 0
		begin := time.Now()
		for i := range 300 {
			one := f.Visitor(t)
			one.Header = http.Header{"Cookie": {fmt.Sprint(cookieName, "=mallory-", i)}}
			res := one.Post(path, url.Values{"name": {fmt.Sprint("mallory-", i)}})
			if res.Status != http.StatusTooManyRequests {
				continue
			}
			wantTooMany(t, res)
			if refused++; slices.ContainsFunc(res.Header.Values("Set-Cookie"), func(c string) bool { return strings.HasPrefix(c, cookieName+"=") }) {
				t.Errorf("%s: got a cookie with a refusal, want none", path)
			}
		}
		if took := time.Since(begin); refused < 300-80-int(80*took/time.Second)-80 {
			t.Errorf("%s: got %d of 300 refused in %v, want all but 80, and 80 a second", path, refused, took)
		}
	}
}

// TestSignInAndOut: people who sign in and out by turns are not limited.
func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	for i := range 5 {
		someone := f.User(t, fmt.Sprint("someone-", i))
		for range 3 {
			for _, path := range []string{"/logout", "/login"} {
				if res := someone.Post(path, url.Values{"name": {fmt.Sprint("someone-", i)}}); res.Status != http.StatusSeeOther {
					t.Errorf("%s: got %d, want 303", path, res.Status)
				}
			}
		}
	}
}

// wantTooMany checks a page that says that something was done too often.
func wantTooMany(t *testing.T, res forumtest.Response) {
	t.Helper()
	if !strings.Contains(res.Body, "Wait a second") || res.Header.Get("Retry-After") != "1" {
		t.Errorf("got Retry-After %q and\n%s\nwant 1, and a page that says to wait a second", res.Header.Get("Retry-After"), res.Body)
	}
}
