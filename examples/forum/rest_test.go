package main

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/pgtest"
)

// TestEndedSessionsRest: nobody reads which sessions have ended while nobody writes to the database.
func TestEndedSessionsRest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "forum.db")
	d, err := openSQL(config{sql: "file:" + path}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	open, err := sql.Open("sqlite", "file:"+path) // it keeps the log
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := open.ExecContext(t.Context(), "UPDATE forum_sessions SET ended = 1"); err != nil {
		t.Fatal(err)
	}
	changed := func(ago time.Duration) {
		t.Helper()
		if err := os.Chtimes(path+"-wal", time.Time{}, time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	changed(time.Hour)
	time.Sleep(2200 * time.Millisecond) // a change, such as that of openSQL, may be noticed twice more within 2.1 s
	step := func() error { return d.step(t.Context(), func(sessionName) {}) }
	if err := step(); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil { // from here on every query is an error
		t.Fatal(err)
	}
	for range 100 {
		if err := step(); err != nil {
			t.Fatalf("got a query although nothing has changed: %v", err)
		}
	}
	changed(time.Minute)
	for range 2 {
		if step() == nil {
			t.Error("got no query after a change, or it was not repeated after it had failed")
		}
	}
}

// TestSignOutWakesNodes: a session that ends is known to another node that rests, on PostgreSQL.
func TestSignOutWakesNodes(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	one, two := forumtest.Start(t, "-sql", url), forumtest.Start(t, "-sql", url)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	alice := one.User(t, "Alice")
	there := copyOf(t, two, alice)
	forumtest.Await(t, "both nodes to listen", func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
			WHERE d.datname = current_database() AND l.locktype = 'advisory'`).Scan(&n)
		return err == nil && n == 2
	})
	time.Sleep(2 * time.Second) // until they have tried it, and rest
	if !strings.Contains(there.Get("/").Body, `action="/logout"`) {
		t.Fatal("before: want a member's page")
	}
	alice.Post("/logout", nil)
	begin := time.Now()
	forumtest.Await(t, "a guest's page at the other node", func() bool { return !strings.Contains(there.Get("/").Body, `action="/logout"`) })
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the other node took %v, want 1s at most", took)
	}
}
