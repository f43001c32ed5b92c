package main

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/presence"
)

// TestChangeSettings: a form changes what it names, and nothing else.
func TestChangeSettings(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	was := presence.Settings{Status: presence.Busy, Text: "in a call", Until: now.Add(time.Minute), Online: presence.Contacts, Seen: presence.Nobody, Except: true}
	with := func(change func(*presence.Settings)) presence.Settings {
		s := was
		change(&s)
		return s
	}
	for form, want := range map[string]presence.Settings{
		"":                           was,
		"online=everyone":            with(func(s *presence.Settings) { s.Online = presence.Everyone }),
		"seen=contacts":              with(func(s *presence.Settings) { s.Seen = presence.Contacts }),
		"status=busy&text=in+a+call": was,
		"for=":                       with(func(s *presence.Settings) { s.Until = time.Time{} }),
		"status=away":                with(func(s *presence.Settings) { s.Status, s.Until = presence.Away, time.Time{} }),
		"text=+on+the+phone+":        with(func(s *presence.Settings) { s.Text, s.Until = "on the phone", time.Time{} }),
		"for=3600":                   with(func(s *presence.Settings) { s.Until = now.Add(time.Hour) }),
		"for=0":                      with(func(s *presence.Settings) { s.Until = time.Time{} }),
		"status=invisible&for=60":    with(func(s *presence.Settings) { s.Status, s.Until = presence.Invisible, now.Add(time.Minute) }),
	} {
		values, _ := url.ParseQuery(form)
		if got, err := changeSettings(was, values, now); err != nil || got != want {
			t.Errorf("%q: got %+v and error %v, want %+v", form, got, err, want)
		}
	}
}

// TestSettingsForm: what is wrong with a form stands on the page, and changes nothing.
func TestSettingsForm(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice := f.User(t, "Alice")
	good := url.Values{"status": {"busy"}, "text": {"in a call"}, "for": {"3600"}, "online": {"contacts"}, "seen": {"nobody"}}
	if res := alice.Post("/settings", good); res.Status != http.StatusSeeOther || res.Header.Get("Location") != "/settings" {
		t.Errorf("got %d to %q, want 303 to /settings\n%s", res.Status, res.Header.Get("Location"), res.Body)
	}
	want := alice.Get("/presence/settings").Body
	for _, bad := range []string{
		"status=asleep", "status=", "status=idle", "online=friends", "online=", "seen=all",
		"for=soon", "for=-1", "for=1.5", "for=31536001", "text=" + strings.Repeat("x", 101), "text=a%00b", "text=%ff",
	} {
		res := alice.Do(http.MethodPost, "/settings", "application/x-www-form-urlencoded", bad)
		if res.Status != http.StatusBadRequest || !strings.Contains(res.Body, `role="alert"`) || !strings.Contains(res.Body, `action="/settings"`) {
			t.Errorf("%q: got %d, want 400 and the form with the reason\n%s", bad, res.Status, res.Body)
		}
	}
	if got := alice.Get("/presence/settings").Body; got != want {
		t.Errorf("after bad forms: got %s, want %s", got, want)
	}
	guest := f.Visitor(t)
	for _, res := range []forumtest.Response{guest.Get("/settings"), guest.Post("/settings", good)} {
		if res.Status != http.StatusUnauthorized || !strings.Contains(res.Body, "Sign in first") {
			t.Errorf("a guest: got %d, want 401 and a page that says to sign in\n%s", res.Status, res.Body)
		}
	}
	mallory := f.User(t, "Mallory")
	mallory.Header = http.Header{"Origin": {"https://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}}
	if res := mallory.Post("/settings", good); res.Status != http.StatusForbidden {
		t.Errorf("from another site: got %d, want 403", res.Status)
	}
}

// TestSettingsSeen: another process that shares the file shows a change within a second, and
// a restart of both keeps it (rules P6 and P7).
func TestSettingsSeen(t *testing.T) {
	t.Parallel()
	redis := newRedis(t)
	flags := []string{"-redis", redis, "-sql", "file:" + filepath.Join(t.TempDir(), "forum.db")}
	one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
	alice, watcher := one.User(t, "Alice"), two.User(t, "Bob")
	stream := watcher.Stream("topic=site")
	alice.Stream("topic=site")
	stream.Join("alice")
	begin := time.Now()
	if res := alice.Post("/settings", url.Values{"status": {"busy"}, "text": {"in a call"}}); res.Status != http.StatusSeeOther {
		t.Fatalf("got %d, want 303\n%s", res.Status, res.Body)
	}
	stream.Until("alice to be busy", func(e forumtest.Event) bool {
		return strings.Contains(fmt.Sprint(e.Joins["alice"]), "busy")
	})
	if res := alice.Post("/settings", url.Values{"online": {"nobody"}}); res.Status != http.StatusSeeOther {
		t.Fatalf("got %d, want 303\n%s", res.Status, res.Body)
	}
	e := stream.Leave("alice")
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the changes were seen after %v, want 1s at most", took)
	}
	if gone := fmt.Sprint(e.Leaves["alice"]); strings.Contains(gone, "last_seen") {
		t.Errorf("got the leave %s, want none with a last seen", gone)
	}
	for shown := time.Now(); ; time.Sleep(20 * time.Millisecond) { // the setting and the leave come by two ways
		page := watcher.Get("/people/alice").Body
		if strings.Contains(page, `data-status="offline"`) && !strings.Contains(page, "in a call") {
			break
		}
		if time.Since(shown) > time.Second {
			t.Errorf("want a page that says offline, and nothing else\n%s", page)
			break
		}
	}
	one.Kill(t)
	again := forumtest.Start(t, flags...)
	phone := again.User(t, "Alice")
	if page := phone.Get("/settings").Body; !strings.Contains(page, "in a call") {
		t.Errorf("after a restart: want the text\n%s", page)
	}
	phone.Stream("topic=site")
	again.User(t, "Carol").Stream("topic=site")
	stream.Until("carol to come", func(e forumtest.Event) bool {
		if forumtest.Has(e.Joins, "alice") {
			t.Error("after a restart alice is announced, and wants to be seen by nobody")
		}
		return forumtest.Has(e.Joins, "carol")
	})
}
