package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/hooktest"
	"github.com/rollcall-go/rollcall/internal/pgtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// The user whom the tests erase: nothing else has such an id or name.
const (
	erasedName = "Zyxwvq Erased"
	erasedID   = "zyxwvq-erased"
)

// erasedWithin is how long an erasure takes at most while nothing is out.
const erasedWithin = 10 * time.Second

// TestExport: the file has all that is kept of its reader, and of nobody else.
func TestExport(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	w := newErasedWorld(t, f, f, "")
	w.fill()
	w.user.Post("/notifications", url.Values{"do": {"seen"}})
	res := w.user.Get("/settings/export")
	if res.Status != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") || !strings.Contains(res.Header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("got %d and %v, want a file of JSON\n%s", res.Status, res.Header, res.Body)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(res.Body), &all); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]string{
		"settings": "in a call", "contacts": "bob", "blocked": "mallory", "devices": "Go program", "mutes": "type:reply", "notifications": "Carol Ann replied",
		"recent_names": erasedName, "online": "site", "posts": "hello from", "edits": erasedName, "sessions": "[", "named_in": "thread:1", "page_views": "site",
	} {
		var kept struct {
			Retention string
			Data      json.RawMessage
		}
		if err := json.Unmarshal(all[part], &kept); err != nil || kept.Retention == "" || !strings.Contains(string(kept.Data), want) {
			t.Errorf("%s: got %s, want a retention and data with %q", part, all[part], want)
		}
	}
	if !strings.Contains(string(all["notifications"]), `"seen_at":`) {
		t.Errorf("notifications: got %s, want when they were seen", all["notifications"])
	}
	if guest := f.Visitor(t).Get("/settings/export"); guest.Status != http.StatusUnauthorized {
		t.Errorf("a guest: got %d, want 401", guest.Status)
	}
}

// TestExportFromElsewhere: a page of another site makes nobody download the file, and costs no
// query. A reader who follows the link, types the address or has no browser gets it.
func TestExportFromElsewhere(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice := f.User(t, "Alice")
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200, "": 200} {
		alice.Header = http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {"navigate"}}
		if site == "" {
			alice.Header = nil
		}
		if res := alice.Get("/settings/export"); res.Status != want {
			t.Errorf("Sec-Fetch-Site %q: got %d, want %d", site, res.Status, want)
		}
		if res := alice.Get("/settings"); res.Status != http.StatusOK {
			t.Errorf("Sec-Fetch-Site %q: got %d for a page, want 200", site, res.Status)
		}
	}
	for from, want := range map[string]int{"http://evil.example/": 403, f.URL + "/settings": 200, "about:blank": 200} {
		alice.Header = http.Header{"Referer": {from}} // without TLS
		if res := alice.Get("/settings/export"); res.Status != want {
			t.Errorf("Referer %q: got %d, want %d", from, res.Status, want)
		}
	}
}

// TestEraseForm: only the reader's own id erases.
func TestEraseForm(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice := f.User(t, "Alice")
	for _, confirm := range []string{"", "bob", "Alice"} {
		res := alice.Post("/settings/erase", url.Values{"confirm": {confirm}})
		if res.Status != http.StatusBadRequest || !strings.Contains(res.Body, `role="alert"`) || !strings.Contains(res.Body, "type your own id") {
			t.Errorf("%q: got %d, want 400 and the reason\n%s", confirm, res.Status, res.Body)
		}
	}
	if guest := f.Visitor(t).Post("/settings/erase", url.Values{"confirm": {"alice"}}); guest.Status != http.StatusUnauthorized {
		t.Errorf("a guest: got %d, want 401", guest.Status)
	}
	if res := alice.Get("/settings"); !strings.Contains(res.Body, `action="/settings/erase"`) || !strings.Contains(res.Body, `href="/settings/export"`) {
		t.Errorf("the settings have neither form nor link\n%s", res.Body)
	}
}

// TestErase: ten seconds later nothing has the id or the name: no key of Redis, no row, and no
// answer of any node. Everything else stays.
func TestErase(t *testing.T) {
	for name, database := range map[string]func(t *testing.T) string{
		"SQLite":   func(t *testing.T) string { return "file:" + filepath.Join(t.TempDir(), "forum.db") },
		"Postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, "--rdbcompression", "no")
			db := database(t)
			flags := []string{"-redis", server.URL(), "-sql", db, "-webhook", deadReceiver(t), "-webhook-secret", hooktest.Secret, "-grace", "1s", "-staff", "bob"}
			one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
			w := newErasedWorld(t, one, two, db)
			defer two.Kill(t) // they log that the receiver fails
			defer one.Kill(t)
			w.fill()
			if !w.named(w.keys(server.Client())) {
				t.Error("Redis has nothing of the user, want something to erase")
			}
			w.wantRows(true)
			w.erase(w.user)
			time.Sleep(erasedWithin)
			w.wantRedis(server.Client())
			w.wantRows(false)
			w.wantAnswers()
		})
	}
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		f := forumtest.Start(t, "-staff", "bob")
		w := newErasedWorld(t, f, f, "")
		w.fill()
		w.erase(w.user)
		time.Sleep(erasedWithin)
		w.wantAnswers()
	})
}

// TestEraseLater: what cannot be erased now is once it can be, also if the node that promised it is
// gone. Where nobody can promise it, nothing has changed.
func TestEraseLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--rdbcompression", "no", "--save", "", "--appendonly", "yes")
	db := pgtest.Start(t)
	database := db.Database(t)
	flags := []string{"-redis", server.URL(), "-sql", database, "-grace", "1s", "-staff", "bob"}
	one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
	defer two.Kill(t) // it logs what was out
	w := newErasedWorld(t, one, two, database)
	w.fill()

	db.Stop()
	res := w.user.Post("/settings/erase", url.Values{"confirm": {erasedID}})
	if res.Status != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Fatalf("without the database: got %d, want 503 and when to try again\n%s", res.Status, res.Body)
	}
	if page := w.bob.At(two).Get("/presence/roster?topic=site").Body; !strings.Contains(page, erasedID) {
		t.Errorf("after a 503 the user is gone: %s", page)
	}
	db.Run(t)
	forumtest.Await(t, "the database is back", func() bool { return w.user.Get("/presence/settings").Status == http.StatusOK })
	w.wantRows(true)

	server.Kill()
	w.erase(w.user)
	one.Kill(t)
	server.Run()
	forumtest.Await(t, "another node has erased the user", func() bool {
		text, err := w.rows()
		return err == nil && !w.named(text) && !w.named(w.keys(server.Client()))
	})
	w.bob, w.carol = w.bob.At(two), w.carol.At(two)
	w.one = two
	w.wantAnswers()
	if log := two.Logged(); log != "" && strings.Contains(log, erasedID) {
		t.Errorf("the log names the user: %s", log)
	}
}

// deadReceiver is a receiver of webhooks that takes nothing.
func deadReceiver(t *testing.T) string {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(receiver.Close)
	return receiver.URL
}

// An erasedWorld is two nodes, the user who is to be erased, and others who know the user.
type erasedWorld struct {
	*testing.T
	one, two   *forumtest.Forum
	database   string
	user       *forumtest.Visitor
	bob, carol *forumtest.Visitor
	cursor     string // of a page of bob's that had the user
}

func newErasedWorld(t *testing.T, one, two *forumtest.Forum, database string) *erasedWorld {
	return &erasedWorld{t, one, two, database, one.User(t, erasedName), one.User(t, "Bob"), one.User(t, "Carol Ann"), ""}
}

// fill makes everything keep something of the user.
func (w *erasedWorld) fill() {
	w.Helper()
	do := func(v *forumtest.Visitor, path string, form url.Values) {
		w.Helper()
		if res := v.Post(path, form); res.Status != http.StatusSeeOther {
			w.Fatalf("POST %s: got %d, want 303\n%s", path, res.Status, res.Body)
		}
	}
	put := func(v *forumtest.Visitor, method, path, body string, want int) {
		w.Helper()
		if res := v.Do(method, path, "application/json", body); res.Status != want {
			w.Fatalf("%s %s: got %d, want %d\n%s", method, path, res.Status, want, res.Body)
		}
	}
	elsewhere := w.two.User(w.T, erasedName)
	w.bob.Stream("topic=site&topic=people&person=" + erasedID)
	watch := w.bob.At(w.two).Stream("topic=site&topic=thread:1&topic=inbox")
	w.user.Stream("topic=site&topic=thread:1&topic=inbox")
	elsewhere.Stream("topic=site&topic=thread:2&topic=people&person=bob")
	watch.Join(erasedID)
	for _, path := range []string{"/", "/threads/1", "/threads/3", "/online", "/people/bob"} {
		w.user.Get(path)
		elsewhere.Get(path)
	}
	do(w.user, "/settings", url.Values{"status": {"busy"}, "text": {"in a call"}, "online": {"everyone"}, "seen": {"everyone"}})
	do(w.user, "/contacts", url.Values{"user": {"bob"}, "do": {"add"}})
	do(w.user, "/contacts", url.Values{"user": {"mallory"}, "do": {"block"}})
	do(w.bob, "/contacts", url.Values{"user": {erasedID}, "do": {"add"}})
	do(w.carol, "/contacts", url.Values{"user": {erasedID}, "do": {"block"}})
	do(w.bob, "/threads/1/replies", url.Values{"text": {"I am first"}})
	do(w.user, "/threads/1/replies", url.Values{"text": {"hello from me"}})
	do(w.carol, "/threads/1/replies", url.Values{"text": {"me too"}})
	do(w.user, "/threads/1/replies", url.Values{"text": {"a second one"}})
	put(w.user, http.MethodPut, "/presence/mutes", `{"scope":"type:reply","how":"mail"}`, http.StatusNoContent)
	put(w.user, http.MethodPost, "/presence/signal", `{"topic":"thread:1","type":"typing","for":30}`, http.StatusNoContent)
	edit := w.bob.Get("/threads/1/posts/1/edit")
	if edit.Status != http.StatusOK {
		w.Fatalf("got %d", edit.Status)
	}
	do(w.user, "/threads/1/posts/1/edit", url.Values{"text": {"I was first"}, "revision": {"1"}})
	forumtest.Await(w.T, "the notification", func() bool {
		return strings.Contains(w.bob.Get("/presence/feed?topic=inbox").Body, erasedName) && strings.Contains(w.user.Get("/presence/feed?topic=inbox").Body, `"type":"reply"`)
	})
	w.user.Stream("topic=thread:3").Close() // so that the user was last seen there
	var polled struct{ Cursor string }
	if err := json.Unmarshal([]byte(w.bob.Get("/presence/poll?topic=site&topic=thread:1&topic=inbox&topic=feed:thread:1&wait=1").Body), &polled); err != nil {
		w.Fatal(err)
	}
	w.cursor = polled.Cursor
}

// erase sends the form, which signs out.
func (w *erasedWorld) erase(v *forumtest.Visitor) {
	w.Helper()
	res := v.Post("/settings/erase", url.Values{"confirm": {erasedID}})
	if res.Status != http.StatusSeeOther {
		w.Fatalf("got %d, want 303\n%s", res.Status, res.Body)
	}
	if page := v.Get("/settings"); page.Status != http.StatusUnauthorized {
		w.Errorf("after the erasure: got %d, want 401", page.Status)
	}
}

// named reports whether a text has the id or the name, as they are or as JSON or a URL has them.
func (w *erasedWorld) named(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "zyxwvq")
}

// keys returns the names and values of all keys, as bytes.
func (w *erasedWorld) keys(client *redis.Client) string {
	var all strings.Builder
	ctx := context.Background()
	for keys := client.Scan(ctx, 0, "*", 1000).Iterator(); keys.Next(ctx); {
		dump, _ := client.Dump(ctx, keys.Val()).Result()
		fmt.Fprintf(&all, "%s = %s\n", keys.Val(), dump)
	}
	return all.String()
}

func (w *erasedWorld) wantRedis(client *redis.Client) {
	w.Helper()
	for line := range strings.SplitSeq(w.keys(client), "\npresence:") {
		if w.named(line) {
			w.Errorf("Redis still has %.600q", line)
		}
	}
}

// rows returns all rows of all tables of presence, and the posts.
func (w *erasedWorld) rows() (string, error) {
	driver, dsn, names := "pgx", w.database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	if path, ok := strings.CutPrefix(w.database, "file:"); ok {
		driver, dsn, names = "sqlite", sqlstore.SQLiteDSN(path), "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var tables []string
	if err := eachRow(db, names, func(values []any) { tables = append(tables, fmt.Sprint(values[0])) }); err != nil {
		return "", err
	}
	var all strings.Builder
	for _, table := range tables {
		if table == "forum_sessions" { // stays: its sessions have ended
			continue
		}
		err := eachRow(db, "SELECT * FROM "+table, func(values []any) { fmt.Fprintf(&all, "%s: %s\n", table, values) })
		if err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

func eachRow(db *sql.DB, query string, do func(values []any)) error {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		do(values)
	}
	return rows.Err()
}

func (w *erasedWorld) wantRows(want bool) {
	w.Helper()
	text, err := w.rows()
	if err != nil {
		w.Fatal(err)
	}
	if want && !w.named(text) {
		w.Error("the database has no row of the user, want all as it was")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !want && w.named(line) {
			w.Errorf("the database still has the row %.600s", line)
		}
	}
}

// wantAnswers asks every node for everything, as somebody who knows the user. Only what repeats
// the question may have the id.
func (w *erasedWorld) wantAnswers() {
	w.Helper()
	for _, node := range []*forumtest.Forum{w.one, w.two} {
		for _, v := range []*forumtest.Visitor{w.bob.At(node), w.carol.At(node)} {
			for _, path := range []string{
				"/presence/poll?topic=site&topic=thread:1&topic=inbox&topic=feed:thread:1&wait=1&cursor=" + url.QueryEscape(w.cursor),
				"/", "/threads/1", "/threads/2", "/threads/3", "/online", "/online/places", "/contacts", "/notifications", "/staff", "/settings/export", "/metrics",
				"/presence/roster?topic=site", "/presence/roster?topic=thread:1", "/presence/recent?topic=site&within=24h", "/presence/recent?topic=site&within=age",
				"/presence/where", "/presence/widget?topic=site", "/presence/feed?topic=inbox", "/presence/feed?topic=feed:thread:1",
				"/presence/poll?topic=site&topic=thread:1&topic=people&list=contacts&topic=inbox&topic=feed:thread:1&wait=1",
			} {
				res := v.Get(path)
				if at := strings.Index(strings.ToLower(res.Body), "zyxwvq"); at >= 0 {
					w.Errorf("%s still has %.300q", path, res.Body[max(0, at-100):])
				}
			}
			if got := v.Get("/presence/people?id=" + erasedID).Body; !strings.Contains(got, `{"online":false}`) {
				w.Errorf("got %s, want that the user is not online", got)
			}
			if got := v.Get("/presence/users?id=" + erasedID).Body; strings.Contains(got, "last_seen") || strings.Contains(got, erasedName) {
				w.Errorf("got %s, want nothing of the user", got)
			}
		}
		if page := w.bob.At(node).Get("/threads/1").Body; !strings.Contains(page, formerMember) || !strings.Contains(page, "hello from me") {
			w.Errorf("the posts are gone, want them by a former member")
		}
		if page := w.bob.At(node).Get("/presence/feed?topic=inbox").Body; !strings.Contains(page, `"somebody"`) {
			w.Errorf("got %s, want an item of somebody", page)
		}
	}
}
