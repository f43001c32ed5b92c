package rollcall_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// Two processes with one Redis are one site, and each closes its own client.
func TestSitesShareRedis(t *testing.T) {
	server := redistest.Start(t)
	site := func() (*rollcall.Site, *syncbuf.Buffer) {
		store, err := redisstore.Open(server.URL(), redisstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return newSite(t, rollcall.Config{Store: store, Views: parse(`{{onlineTotal "site"}}`)})
	}
	a, log := site()
	until(t, "the second process knows of the first", func() bool {
		b, log := site()
		defer b.Close(t.Context())
		return strings.Contains(log.String(), "other_nodes=1")
	})
	b, _ := site()
	get(t, a.Wrap(pages(a)), "/", "alice")
	until(t, "the other process shows Alice", func() bool { return get(t, b.Wrap(pages(b)), "/", "").Body.String() == "1" })
	if line := log.String(); !strings.Contains(line, "other_nodes=0") || !strings.Contains(line, `store="redis `) || !strings.Contains(line, "prefix presence") {
		t.Errorf("got the log %q, want the name of the store", line)
	}
}

// newSQL returns what keeps people and notifications in a new file, and its database.
func newSQL(t *testing.T) (*sqlstore.Store, *sql.DB) {
	t.Helper()
	db, err := sql.Open("sqlite", sqlstore.SQLiteDSN(filepath.Join(t.TempDir(), "site.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.SQLite})
	if err != nil {
		t.Fatal(err)
	}
	return store, db
}

// A site with a database notifies in its own transaction, and one Keeper serves the relay, the
// endpoints and the pages. Forget leaves nothing of the user.
func TestSiteWithSQL(t *testing.T) {
	store, db := newSQL(t)
	site, _ := newSite(t, rollcall.Config{SQL: store, Views: parse(`{{bell}}{{notifications}}`)})
	h := site.Wrap(pages(site))
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := site.SendTx(t.Context(), tx, feed.Message{To: []presence.UserID{"alice"}, Text: "A feed has failed", URL: "/feeds/7"}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	site.Kick()
	shown := func() bool { return strings.Contains(get(t, h, "/", "alice").Body.String(), "A feed has failed") }
	until(t, "Alice's page shows the notification", shown)
	if got := get(t, h, "/presence/feed?topic=inbox", "alice"); !strings.Contains(got.Body.String(), "A feed has failed") {
		t.Errorf("got %d %s, want the notification at the endpoints", got.Code, got.Body)
	}
	if err := site.Tracker().People().ChangeSettings(t.Context(), "alice", func(s *presence.Settings) error { s.Text = "at home"; return nil }); err != nil {
		t.Fatal(err)
	}

	if err := site.Forget(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	until(t, "the inbox is gone", func() bool { return !shown() })
	if s, err := site.Tracker().People().Settings(t.Context(), "alice"); err != nil || s.Text != "" {
		t.Errorf("got the settings %+v, %v of a user who was forgotten", s, err)
	}
}

// A sign-out ends the device too, of which contacts know.
func TestSignOffEndsTheDevice(t *testing.T) {
	store, _ := newSQL(t)
	site, _ := newSite(t, rollcall.Config{SQL: store, Views: parse("hello"), Parts: rollcall.Parts{
		Middleware: nethttp.Config{Session: func(r *http.Request) string { return r.Header.Get("User") + ".1" }},
	}})
	mux := http.NewServeMux()
	mux.Handle("GET /", pages(site))
	mux.HandleFunc("POST /logout", func(_ http.ResponseWriter, r *http.Request) {
		if err := site.SignOff(r); err != nil {
			t.Error(err)
		}
	})
	h := site.Wrap(mux)
	devices := func() int {
		all, err := site.Tracker().People().Sessions(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	get(t, h, "/", "alice")
	until(t, "Alice's device is online", func() bool { return devices() == 1 })
	r := httptest.NewRequest(http.MethodPost, "/logout", nil)
	r.Header.Set("User", "alice")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if n := devices(); n != 0 {
		t.Errorf("got %d devices after the sign-out, want none", n)
	}
}

// A database that is out at the start is prepared once it is back.
func TestDatabaseThatIsOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	db, err := sql.Open("sqlite", sqlstore.SQLiteDSN(filepath.Join(dir, "site.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.SQLite})
	if err != nil {
		t.Fatal(err)
	}
	site, log := newSite(t, rollcall.Config{SQL: store, Views: parse(`hello`)})
	if got := get(t, site.Wrap(pages(site)), "/", "alice"); got.Body.String() != "hello" {
		t.Errorf("got %q, want the page", got.Body)
	}
	if !strings.Contains(log.String(), "the database cannot be reached") {
		t.Errorf("got the log %q, want a line on the database", log)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	until(t, "messages are kept", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return site.Send(ctx, feed.Message{To: []presence.UserID{"alice"}, Text: "hello"}) == nil
	})
}
