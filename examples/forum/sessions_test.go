package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
)

func newRedis(t *testing.T) string {
	t.Helper()
	return "unix://" + redistest.Start(t).Socket
}

// TestToken: a token says when it was made and whose it is, and an id tells neither it nor
// that two users share a browser.
func TestToken(t *testing.T) {
	now := time.Now()
	token := newToken(now)
	alice, ok := sessionOf(token, "", "alice")
	bob, _ := sessionOf(token, "", "bob")
	if !ok || alice.user != "alice" || alice.id == bob.id || strings.Contains(token, string(alice.id)) {
		t.Errorf("got %+v and %+v of the token %s, want two sessions that do not look alike", alice, bob, token)
	}
	if d := now.Sub(alice.begun); d < 0 || d > time.Minute {
		t.Errorf("the session began %v ago, want a minute at most", d)
	}
	if err := (presence.Device{ID: alice.id}).Validate(); err != nil {
		t.Errorf("the id %q: %v", alice.id, err)
	}
	for _, bad := range []string{"", "x", token + "x", token[1:], strings.Repeat("=", len(token))} {
		if s, ok := sessionOf(bad, "", "alice"); ok {
			t.Errorf("%q: got the session %+v, want none", bad, s)
		}
	}
}

// TestEndedSessions: a session that has ended is over for good, also where too many have
// ended to remember each.
func TestEndedSessions(t *testing.T) {
	e, now := newEndedSessions(), time.Now()
	begun := func(ago time.Duration) session {
		s, _ := sessionOf(newToken(now.Add(-ago)), "", "alice")
		return s
	}
	first, second, old, young := begun(2*time.Hour), begun(time.Hour), begun(sessionAge+time.Minute), begun(0)
	for _, s := range []session{first, second, young} {
		if e.has(s, now) {
			t.Errorf("the session of %v is over, want it to go on", s.begun)
		}
	}
	if !e.has(old, now) {
		t.Error("a session that is too old goes on")
	}
	if !e.add(first.sessionName, now.Add(-90*time.Minute).UnixMilli()) || e.add(first.sessionName, now.UnixMilli()-1) {
		t.Error("want an end to be new once")
	}
	if !e.has(first, now) || e.has(second, now) {
		t.Error("want the session over that ended, and no other")
	}
	for i := range maxEnded + 1 {
		s, _ := sessionOf(newToken(now), "", presence.UserID(rune('a'+i%26)))
		e.add(s.sessionName, now.Add(-20*time.Minute).UnixMilli()+int64(i))
	}
	if len(e.at) > maxEnded {
		t.Errorf("got %d sessions in memory, want %d at most", len(e.at), maxEnded)
	}
	if !e.has(first, now) || e.has(young, now) {
		t.Error("want the session over that ended and was forgotten, and a later one to go on")
	}
}

// cookieOf returns the value of a visitor's cookie.
func cookieOf(t *testing.T, v *forumtest.Visitor, name string) string {
	t.Helper()
	address, err := url.Parse(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Client.Jar.Cookies(address) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// TestSessionCookie: a sign-in makes a session whose token only the browser has.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	proxied := f.Visitor(t)
	proxied.Header = http.Header{"X-Forwarded-Proto": {"https"}}
	res := proxied.Post("/login", url.Values{"name": {"Alice"}})
	want := regexp.MustCompile(`(?m)^` + sessionCookie + `=[A-Za-z0-9_-]{27}; Path=/; HttpOnly; Secure; SameSite=Lax$`)
	if got := strings.Join(res.Header.Values("Set-Cookie"), "\n"); !want.MatchString(got) {
		t.Errorf("got cookies %q, want one that is %s", got, want)
	}
	alice := f.User(t, "Alice")
	token := cookieOf(t, alice, sessionCookie)
	alice.Post("/login", url.Values{"name": {"Alice"}})
	if got := cookieOf(t, alice, sessionCookie); got != token {
		t.Error("signing in again made another session of the same user in the same browser")
	}
	alice.Post("/login", url.Values{"name": {"Bob"}})
	if got := cookieOf(t, alice, sessionCookie); got == token {
		t.Error("the next user of the browser has the session of the one before")
	}
	bare := f.Visitor(t)
	bare.Header = http.Header{"Cookie": {cookieName + "=Carol"}}
	if page := bare.Get("/").Body; !strings.Contains(page, `action="/logout"`) {
		t.Errorf("with the name alone: want a member's page\n%s", page)
	}
}

// copyOf returns a browser with the same cookies as another: somebody who has stolen them.
func copyOf(t *testing.T, f *forumtest.Forum, v *forumtest.Visitor) *forumtest.Visitor {
	t.Helper()
	thief := f.Visitor(t)
	thief.Header = http.Header{"Cookie": {cookieName + "=" + cookieOf(t, v, cookieName) + "; " + sessionCookie + "=" + cookieOf(t, v, sessionCookie)}}
	return thief
}

// TestSignOutEndsSession: after a sign-out a copy of the cookies is a guest's, on every node.
func TestSignOutEndsSession(t *testing.T) {
	t.Parallel()
	flags := []string{"-redis", newRedis(t), "-sql", "file:" + filepath.Join(t.TempDir(), "forum.db")}
	one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
	alice := one.User(t, "Alice")
	here, there := copyOf(t, one, alice), copyOf(t, two, alice)
	for _, thief := range []*forumtest.Visitor{here, there} {
		if !strings.Contains(thief.Get("/").Body, `action="/logout"`) {
			t.Fatal("before: want a member's page")
		}
	}
	alice.Post("/logout", nil)
	if strings.Contains(here.Get("/").Body, `action="/logout"`) {
		t.Error("at the same node: got a member's page, want a guest's")
	}
	begin := time.Now()
	forumtest.Await(t, "a guest's page at the other node", func() bool { return !strings.Contains(there.Get("/").Body, `action="/logout"`) })
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the other node took %v, want 1s at most", took)
	}
	for _, path := range []string{"/status", "/settings", "/contacts"} {
		if res := here.Post(path, url.Values{"status": {"away"}, "user": {"bob"}, "do": {"add"}}); res.Status != http.StatusUnauthorized {
			t.Errorf("POST %s: got %d, want 401", path, res.Status)
		}
	}
	if page := here.Post("/login", url.Values{"name": {"Alice"}}); page.Status != http.StatusSeeOther {
		t.Errorf("signing in again: got %d, want 303", page.Status)
	}
}

// TestEndSession: a user ends the session of another device of theirs. It is a guest on
// every node, its streams end within a second, and nobody sees the user leave (rule P11).
func TestEndSession(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"form", "endpoint"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			flags := []string{"-redis", newRedis(t), "-grace", "30s", "-sql", "file:" + filepath.Join(t.TempDir(), "forum.db")}
			one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
			watcher := one.Visitor(t).Stream("topic=site")
			laptop, phone := one.User(t, "Alice"), one.User(t, "Alice")
			laptop.Stream("topic=site")
			ended := []*forumtest.Stream{phone.Stream("topic=site"), phone.At(two).Stream("topic=site&topic=thread:1")}
			watcher.Join("alice")

			device := ""
			mine, _ := sessionOf(cookieOf(t, phone, sessionCookie), "", "alice")
			forumtest.Await(t, "the phone among the sessions", func() bool {
				page := laptop.Get("/sessions").Body
				device = string(mine.id)
				return strings.Contains(page, `action="/sessions/`+device+`/end"`)
			})
			bob := two.User(t, "Bob")
			if res := bob.Post("/sessions/"+device+"/end", nil); res.Status != http.StatusSeeOther {
				t.Errorf("another user's: got %d, want 303, and nothing to happen", res.Status)
			}
			if res := one.Visitor(t).Post("/sessions/"+device+"/end", nil); res.Status != http.StatusUnauthorized {
				t.Errorf("a guest: got %d, want 401", res.Status)
			}
			if res := laptop.Post("/sessions/"+strings.Repeat("x", 65)+"/end", nil); res.Status != http.StatusBadRequest {
				t.Errorf("no id: got %d, want 400", res.Status)
			}
			if !strings.Contains(phone.Get("/").Body, `action="/logout"`) {
				t.Fatal("the phone is signed out before its session ends")
			}
			begin := time.Now()
			if way == "form" {
				if res := laptop.At(two).Post("/sessions/"+device+"/end", nil); res.Status != http.StatusSeeOther || res.Header.Get("Location") != "/sessions" {
					t.Errorf("got %d to %q, want 303 to /sessions\n%s", res.Status, res.Header.Get("Location"), res.Body)
				}
			} else if res := laptop.At(two).Do(http.MethodDelete, "/presence/sessions/"+device, "", ""); res.Status != http.StatusNoContent {
				t.Errorf("got %d, want 204\n%s", res.Status, res.Body)
			}
			for _, s := range ended {
				s.Drain()
			}
			if took := time.Since(begin); took > time.Second {
				t.Errorf("the streams ended after %v, want 1s at most", took)
			}
			for _, f := range []*forumtest.Forum{two, one} {
				forumtest.Await(t, "a guest's page", func() bool { return !strings.Contains(phone.At(f).Get("/").Body, `action="/logout"`) })
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("the phone was a guest after %v, want about a second", took)
			}
			if page := laptop.Get("/").Body; !strings.Contains(page, `action="/logout"`) {
				t.Error("the laptop is signed out too")
			}
			one.User(t, "Carol").Get("/")
			watcher.Until("carol to come, and alice to stay", func(e forumtest.Event) bool {
				if forumtest.Has(e.Leaves, "alice") {
					t.Error("alice leaves, want her laptop to keep her")
				}
				return forumtest.Has(e.Joins, "carol")
			})
			if page := laptop.Get("/sessions").Body; strings.Contains(page, device) {
				t.Errorf("the phone is still among the sessions\n%s", page)
			}
		})
	}
}

// TestSignOutAfterHangUp: a session ends although its browser has hung up meanwhile.
func TestSignOutAfterHangUp(t *testing.T) {
	t.Parallel()
	config, err := parseConfig(nil, none)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSite(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(context.Background()) })
	var cookies []*http.Cookie
	post := func(ctx context.Context, path, form string) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusSeeOther {
			t.Fatalf("POST %s: got %d, want 303", path, w.Code)
		}
		if cookies == nil {
			cookies = w.Result().Cookies()
		}
	}
	post(t.Context(), "/login", "name=Alice")
	var token string
	for _, c := range cookies {
		if c.Name == sessionCookie {
			token = c.Value
		}
	}
	session, ok := sessionOf(token, "", "alice")
	if !ok || s.sql.ended.has(session, time.Now()) {
		t.Fatalf("got the session %+v and %v, want one that goes on", session, ok)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	post(gone, "/logout", "")
	if !s.sql.ended.has(session, time.Now()) {
		t.Error("the session goes on")
	}
}
