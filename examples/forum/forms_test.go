package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStatusFormRate: a form changes no status more often than a request may.
func TestStatusFormRate(t *testing.T) {
	t.Parallel()
	f := start(t)
	alice := f.user(t, "Alice")
	alice.get("/")
	begin, passed := time.Now(), 0
	for i := range 300 {
		status := []string{"away", "busy"}[i%2]
		res := alice.post("/status", url.Values{"status": {status}, "next": {"/"}})
		switch res.status {
		case http.StatusSeeOther:
			passed++
		case http.StatusTooManyRequests:
			wantTooMany(t, res)
		default:
			t.Fatalf("got %d, want 303 or 429", res.status)
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
		f := start(t)
		refused := 0
		begin := time.Now()
		for i := range 300 {
			one := f.visitor(t)
			one.header = http.Header{"Cookie": {fmt.Sprint(cookieName, "=mallory-", i)}}
			res := one.post(path, url.Values{"name": {fmt.Sprint("mallory-", i)}})
			if res.status != http.StatusTooManyRequests {
				continue
			}
			wantTooMany(t, res)
			if refused++; slices.ContainsFunc(res.header.Values("Set-Cookie"), func(c string) bool { return strings.HasPrefix(c, cookieName+"=") }) {
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
	f := start(t)
	for i := range 5 {
		someone := f.user(t, fmt.Sprint("someone-", i))
		for range 3 {
			for _, path := range []string{"/logout", "/login"} {
				if res := someone.post(path, url.Values{"name": {fmt.Sprint("someone-", i)}}); res.status != http.StatusSeeOther {
					t.Errorf("%s: got %d, want 303", path, res.status)
				}
			}
		}
	}
}

// wantTooMany checks a page that says that something was done too often.
func wantTooMany(t *testing.T, res response) {
	t.Helper()
	if !strings.Contains(res.body, "Wait a second") || res.header.Get("Retry-After") != "1" {
		t.Errorf("got Retry-After %q and\n%s\nwant 1, and a page that says to wait a second", res.header.Get("Retry-After"), res.body)
	}
}
