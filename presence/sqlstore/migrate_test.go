package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// migrateEnv makes this program a process that migrates and ends: "dialect driver dsn".
const migrateEnv = "SQLSTORE_TEST_MIGRATE"

// nextStep is a step that the next version of this program may have.
const nextStep = "ALTER TABLE rollcall_people ADD COLUMN nick text NOT NULL DEFAULT 'none'"

func migrateAsChild() int {
	parts := strings.SplitN(os.Getenv(migrateEnv), " ", 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := func() error {
		db, err := sql.Open(parts[1], parts[2])
		if err != nil {
			return err
		}
		defer db.Close()
		s, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.Dialect(parts[0])})
		if err != nil {
			return err
		}
		s.AddStep(nextStep)
		if err := s.Migrate(ctx); err != nil {
			return err
		}
		return s.People().Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now()})
	}()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// Eight processes that start at once migrate a database once, and all can use it then.
func TestProcessesMigrateAtOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		dsn := k.dsn(t)
		if strings.Contains(dsn, "vfs=memdb") {
			return // no two processes share it
		}
		var wg sync.WaitGroup
		for range 8 {
			cmd := bound.To(exec.CommandContext(t.Context(), os.Args[0]), syscall.SIGKILL)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", migrateEnv, k.dialect, k.driver, dsn))
			wg.Go(func() {
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("a process: %v\n%s", err, out)
				}
			})
		}
		wg.Wait()
		db := open(t, k, dsn)
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_migrations"); got != 2 {
			t.Errorf("got %d migrations, want 2", got)
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_people"); got != 1 {
			t.Errorf("got %d users, want 1", got)
		}
	})
}

func TestMigrateAgain(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		at := one[int64](t, db, "SELECT max(applied_at) FROM rollcall_migrations")
		noError(t, s.Migrate(t.Context()))
		if got := one[int64](t, db, "SELECT max(applied_at) FROM rollcall_migrations"); got != at {
			t.Errorf("the migration was applied again: at %d and at %d", at, got)
		}
	})
}

// A migration that fails leaves nothing behind, and works once the reason is gone.
func TestMigrationIsOneTransaction(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		db := open(t, k, k.dsn(t))
		must(t, db, "CREATE TABLE rollcall_contacts (id integer)") // the second table
		s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
		err := s.Migrate(t.Context())
		if err == nil || !strings.Contains(err.Error(), "0001_first.sql") {
			t.Errorf("got %v, want an error that names the migration", err)
		}
		if _, err := db.ExecContext(t.Context(), "SELECT 1 FROM rollcall_people"); err == nil {
			t.Error("half of the migration is there")
		}
		must(t, db, "DROP TABLE rollcall_contacts")
		if err := s.Migrate(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The next version of this program upgrades a database and keeps its rows. This version then goes
// on until it restarts, and refuses the database at its next start.
func TestNextVersion(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		must(t, db, `INSERT INTO rollcall_people (user_id, seen, text) VALUES ('bob', 1000, 'hello')`)
		broken := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
		broken.AddStep(nextStep, "SELECT nothing FROM nowhere")
		if err := broken.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "0002_next.sql") {
			t.Errorf("got %v, want an error that names the migration", err)
		}
		next := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
		next.AddStep(nextStep)
		for range 2 {
			noError(t, next.Migrate(t.Context()))
			if got := one[string](t, db, "SELECT text || nick FROM rollcall_people WHERE user_id = 'bob'"); got != "hellonone" {
				t.Errorf("got %q, want what was kept of bob, and the new column", got)
			}
		}
		if seen, err := s.People().LastSeen(t.Context(), "bob"); err != nil || seen[0].Settings.Text != "hello" {
			t.Errorf("got %+v, %v, want what was kept of bob", seen, err)
		}
		err := s.Migrate(t.Context())
		if !errors.Is(err, sqlstore.ErrNewerDatabase) || !strings.Contains(err.Error(), "step 2") {
			t.Errorf("got %v, want %v and its step", err, sqlstore.ErrNewerDatabase)
		}
	})
}

// A database of the steps that there were before the first release is refused, and stays as it is.
func TestOldDatabase(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		for _, steps := range []string{"(1, '0001_tables.sql', 1)", "(1, '0001_tables.sql', 1), (2, '0002_erasures.sql', 1)"} {
			must(t, db, "DELETE FROM rollcall_migrations")
			must(t, db, "INSERT INTO rollcall_migrations (version, name, applied_at) VALUES "+steps)
			if err := s.Migrate(t.Context()); !errors.Is(err, sqlstore.ErrOldDatabase) {
				t.Errorf("%s: got %v, want %v", steps, err, sqlstore.ErrOldDatabase)
			}
		}
	})
}

// An account without the right to create tables can start, once somebody has migrated.
func TestMigratedByAnother(t *testing.T) {
	for _, k := range kinds() {
		if k.dialect != sqlstore.Postgres {
			continue
		}
		dsn := k.dsn(t)
		db := open(t, k, dsn)
		noError(t, newStore(t, db, sqlstore.Config{Dialect: k.dialect}).Migrate(t.Context()))
		role := "site_" + one[string](t, db, "SELECT current_database()")
		must(t, db, "CREATE ROLE "+role+" LOGIN")
		must(t, db, "GRANT SELECT ON rollcall_migrations TO "+role)
		must(t, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON rollcall_people, rollcall_contacts TO "+role)
		must(t, db, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		theirs := open(t, k, strings.Replace(dsn, "postgres@", role+"@", 1))
		s := newStore(t, theirs, sqlstore.Config{Dialect: k.dialect})
		if err := s.Migrate(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.People().AddContact(t.Context(), "alice", "bob"); err != nil {
			t.Error(err)
		}
	}
}

func TestMigrateSaysWhatIsWrong(t *testing.T) {
	for _, k := range kinds() {
		db := open(t, k, k.dsn(t))
		other := map[sqlstore.Dialect]sqlstore.Dialect{sqlstore.SQLite: sqlstore.Postgres, sqlstore.Postgres: sqlstore.SQLite}[k.dialect]
		err := newStore(t, db, sqlstore.Config{Dialect: other}).Migrate(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Config.Dialect") {
			t.Errorf("%s taken for %s: got %v, want an error that names Config.Dialect", k.name, other, err)
		}
	}
	sqlite := kinds()[0]
	err := newStore(t, open(t, sqlite, "file:/impatient?vfs=memdb"), sqlstore.Config{Dialect: sqlstore.SQLite}).Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), "busy_timeout") {
		t.Errorf("SQLite without a busy_timeout: got %v, want an error that names it", err)
	}
}

func TestNewRefuses(t *testing.T) {
	k := kinds()[0]
	db := open(t, k, k.dsn(t))
	for name, refused := range map[string]struct {
		db     *sql.DB
		config sqlstore.Config
	}{
		"Dialect": {db, sqlstore.Config{}},
		"mysql":   {db, sqlstore.Config{Dialect: "mysql"}},
		"db":      {nil, sqlstore.Config{Dialect: sqlstore.SQLite}},
	} {
		_, err := sqlstore.New(refused.db, refused.config)
		if !errors.Is(err, presence.ErrInvalidConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %v that names it", name, err, presence.ErrInvalidConfig)
		}
	}
}

func must(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// one returns the one value of a query.
func one[T any](t testing.TB, db *sql.DB, query string, args ...any) (value T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}
