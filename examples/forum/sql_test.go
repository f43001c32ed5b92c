package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/pgtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// databases are the flags of each kind of database.
var databases = map[string]func(t *testing.T) []string{
	"memory":   func(*testing.T) []string { return nil },
	"SQLite":   func(t *testing.T) []string { return []string{"-sql", "file:" + filepath.Join(t.TempDir(), "forum.db")} },
	"Postgres": func(t *testing.T) []string { return []string{"-sql", pgtest.Database(t)} },
}

// TestDatabases: what a user chose is kept in each kind of database.
func TestDatabases(t *testing.T) {
	t.Parallel()
	for name, flags := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forumtest.Start(t, flags(t)...)
			alice := f.User(t, "Alice")
			if res := alice.Post("/settings", url.Values{"online": {"contacts"}, "text": {"in the “shed”"}}); res.Status != http.StatusSeeOther {
				t.Fatalf("settings: got %d, want 303\n%s", res.Status, res.Body)
			}
			if res := alice.Post("/contacts", url.Values{"user": {"Bob"}, "do": {"add"}}); res.Status != http.StatusSeeOther {
				t.Fatalf("contacts: got %d, want 303\n%s", res.Status, res.Body)
			}
			f.Visitor(t).Get("/people/alice")
			if page := f.User(t, "Alice").Get("/settings").Body; !strings.Contains(page, "in the “shed”") {
				t.Errorf("want the text in another browser too\n%s", page)
			}
			if page := alice.Get("/contacts").Body; !strings.Contains(page, `href="/people/bob"`) {
				t.Errorf("want bob on the list\n%s", page)
			}
		})
	}
}

// TestWithoutSQL: a fleet that has no database has no pages that need one, does not link to
// them, and says so once.
func TestWithoutSQL(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	f := forumtest.Start(t, "-redis", "unix://"+redis.Socket)
	alice := f.User(t, "Alice")
	page := alice.Get("/").Body
	for _, path := range []string{"/settings", "/contacts", "/sessions"} {
		if strings.Contains(page, `href="`+path) {
			t.Errorf("the front page links to %s", path)
		}
		if res := alice.Get(path); res.Status != http.StatusNotFound {
			t.Errorf("GET %s: got %d, want 404", path, res.Status)
		}
		if res := alice.Post(path, url.Values{"user": {"bob"}, "do": {"add"}}); res.Status != http.StatusNotFound {
			t.Errorf("POST %s: got %d, want 404", path, res.Status)
		}
	}
	if thread := alice.Get("/threads/1").Body; !strings.Contains(thread, `id="post-4"`) || strings.Contains(thread, "<textarea") || strings.Contains(thread, "<presence-bell") || strings.Contains(thread, `data-show="room"`) {
		t.Errorf("want the posts of the beginning, no form to reply, no bell and no room\n%s", thread)
	}
	for _, path := range []string{"/notifications", "/mutes", "/threads/1/replies", "/threads/1/posts/1/edit"} {
		if res := alice.Post(path, url.Values{"text": {"x"}, "do": {"seen"}, "scope": {"*"}, "how": {"all"}}); res.Status != http.StatusNotFound {
			t.Errorf("POST %s: got %d, want 404", path, res.Status)
		}
	}
	for _, path := range []string{"/people/bob", "/notifications", "/presence/feed?topic=inbox", "/presence/mutes", "/presence/settings", "/presence/sessions", "/presence/people?id=bob", "/threads/1/posts/1/edit", "/threads/1/replies"} {
		if res := alice.Get(path); res.Status != http.StatusNotFound {
			t.Errorf("GET %s: got %d, want 404", path, res.Status)
		}
	}
	if strings.Contains(page, "/people/") {
		t.Errorf("the front page links to people\n%s", page)
	}
	if cookies := alice.Post("/login", url.Values{"name": {"Alice"}}).Header.Values("Set-Cookie"); strings.Contains(strings.Join(cookies, "\n"), sessionCookie) {
		t.Errorf("got %q, want no session", cookies)
	}
	f.Stop(t, syscall.SIGTERM)
	if got := strings.Count(f.Logged(), "no database: there are no settings"); got != 1 {
		t.Errorf("got %d lines about it, want one\n%s", got, f.Logged())
	}
}

// TestDatabaseOut: a database that cannot be reached keeps no page from coming.
func TestDatabaseOut(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	config, err := parseConfig([]string{"-sql", "postgres://nobody:a-password@127.0.0.1:1/nowhere?sslmode=disable"}, none)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openSQL(config, slog.New(slog.NewTextHandler(&text, nil)))
	if err != nil {
		t.Fatalf("got error %v, want a database that is tried again", err)
	}
	defer d.close()
	if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the database cannot be used") || strings.Contains(got, "a-password") {
		t.Errorf("got the log %q, want one line that says so, without the password", got)
	}
}
