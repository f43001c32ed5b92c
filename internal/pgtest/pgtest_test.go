package pgtest_test

import (
	"database/sql"
	"os"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rollcall-go/rollcall/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m).Run()) }

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestDatabasesAreApart(t *testing.T) {
	a, b := open(t, pgtest.Database(t)), open(t, pgtest.Database(t))
	for _, db := range []*sql.DB{a, b} {
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE thing (id integer)"); err != nil {
			t.Error(err)
		}
	}
}

func TestServerKeepsItsData(t *testing.T) {
	s := pgtest.Start(t)
	db := open(t, s.Database(t))
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE thing (id integer)"); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(){"Stop": s.Stop, "Kill": s.Kill} {
		end()
		if err := db.PingContext(t.Context()); err == nil {
			t.Errorf("after %s: got an answer, want an error", name)
		}
		s.Run(t)
		if _, err := db.ExecContext(t.Context(), "INSERT INTO thing VALUES (1)"); err != nil {
			t.Errorf("after %s and Run: %v", name, err)
		}
	}
}
