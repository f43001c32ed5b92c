package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/pgtest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

func TestMain(m *testing.M) {
	if os.Getenv(migrateEnv) != "" {
		os.Exit(migrateAsChild())
	}
	if os.Getenv(crashEnv) != "" {
		os.Exit(crashAsChild())
	}
	leak.VerifyTestMain(pgtest.Main(m))
}

// A kind is a database that the tests run on.
type kind struct {
	name    string
	dialect sqlstore.Dialect
	driver  string
	dsn     func(testing.TB) string // of an empty database
}

func kinds() []kind {
	return []kind{
		{"SQLite in memory", sqlstore.SQLite, "sqlite", func(t testing.TB) string { return sqlstore.SQLiteMemoryDSN(t.Name()) }},
		{"SQLite", sqlstore.SQLite, "sqlite", func(t testing.TB) string {
			return sqlstore.SQLiteDSN(filepath.Join(t.TempDir(), "a? 100%#.db"))
		}},
		{"Postgres", sqlstore.Postgres, "pgx", pgtest.Database},
	}
}

// pooled is PostgreSQL as a pooler wants it, which keeps no prepared statement.
func pooled(mode string) kind {
	return kind{"Postgres " + mode, sqlstore.Postgres, "pgx", func(t testing.TB) string {
		return pgtest.Database(t) + "&default_query_exec_mode=" + mode
	}}
}

// eachKind runs a test on each kind of database.
func eachKind(t *testing.T, test func(t *testing.T, k kind)) {
	for _, k := range kinds() {
		t.Run(strings.ReplaceAll(k.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

func open(t testing.TB, k kind, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(k.driver, dsn)
	noError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func newStore(t testing.TB, db *sql.DB, config sqlstore.Config) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.New(db, config)
	noError(t, err)
	return s
}

// migrated returns a store on an empty database.
func migrated(t testing.TB, k kind) (*sqlstore.Store, *sql.DB) {
	t.Helper()
	db := open(t, k, k.dsn(t))
	s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
	noError(t, s.Migrate(t.Context()))
	return s, db
}

func people(t testing.TB, k kind) *sqlstore.People {
	t.Helper()
	s, _ := migrated(t, k)
	return s.People()
}

// site is a database's people, as the kit takes them.
func site(t *testing.T, k kind, db *sql.DB) presencetest.DirectorySite {
	p := newStore(t, db, sqlstore.Config{Dialect: k.dialect}).People()
	with := func(change func(context.Context, presence.UserID, presence.UserID) error) func(user, other presence.UserID) error {
		return func(user, other presence.UserID) error { return change(t.Context(), user, other) }
	}
	return presencetest.DirectorySite{
		Directory: p,
		Befriend:  with(p.AddContact),
		Unfriend:  with(p.RemoveContact),
		Block: func(user, other presence.UserID, on bool) error {
			if on {
				return p.Block(t.Context(), user, other)
			}
			return p.Unblock(t.Context(), user, other)
		},
	}
}

func TestDirectory(t *testing.T) { eachKind(t, testDirectory) }

func TestDirectoryWithoutPreparedStatements(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			testDirectory(t, pooled(mode))
		})
	}
}

func testDirectory(t *testing.T, k kind) {
	presencetest.RunDirectory(t, presencetest.DirectoryHarness{New: func(t *testing.T) presencetest.DirectorySite {
		_, db := migrated(t, k)
		return site(t, k, db)
	}})
}

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// choose replaces what a user chose, whatever that was.
func choose(ctx context.Context, p *sqlstore.People, user presence.UserID, s presence.Settings) error {
	for {
		was, err := p.Settings(ctx, user)
		if err != nil {
			return err
		}
		s.Rev = was[0].Rev
		if _, err = p.SetSettings(ctx, user, s); !errors.Is(err, presence.ErrLaterChoice) {
			return err
		}
	}
}
