package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// chosen returns names of a site's own choice.
func chosen(k kind) sqlstore.Config {
	c := sqlstore.Config{Dialect: k.dialect, Prefix: "app_"}
	if k.dialect == sqlstore.Postgres {
		c.Schema = "presence"
	}
	return c
}

// openChosen returns an empty database that has the schema.
func openChosen(t *testing.T, k kind) *sql.DB {
	t.Helper()
	db := open(t, k, k.dsn(t))
	if k.dialect == sqlstore.Postgres {
		_, err := db.Exec("CREATE SCHEMA presence")
		noError(t, err)
	}
	return db
}

// All statements find the tables under names of the site's own choice, and work.
func TestNames(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		db := openChosen(t, k)
		s := newStore(t, db, chosen(k))
		noError(t, s.Migrate(t.Context()))
		noError(t, s.Migrate(t.Context()))
		for name, text := range s.Texts() {
			if strings.Contains(text, "rollcall") {
				t.Errorf("%s: %s", name, text)
			}
			statement, err := db.PrepareContext(t.Context(), text)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				continue
			}
			statement.Close()
		}
		works(t, s)
		if tables := tablesOf(t, k, db); len(tables) < 9 {
			t.Errorf("got the tables %q, want at least 9", tables)
		} else {
			for _, table := range tables {
				if !regexp.MustCompile(`^app_[a-z]+$`).MatchString(table) {
					t.Errorf("got the table %q, want one that begins with app_", table)
				}
			}
		}
	})
}

// works fails the test unless people and feeds are kept.
func works(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	ctx := t.Context()
	noError(t, choose(ctx, s.People(), "alice", presence.Settings{Text: "at home"}))
	noError(t, s.People().Block(ctx, "alice", "mallory"))
	noError(t, s.People().Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now()}))
	noError(t, s.People().Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now()}))
	if got, err := s.People().LastSeen(ctx, "alice"); err != nil || got[0].Settings.Text != "at home" || !got[0].Settings.Except {
		t.Errorf("got %+v, %v, want what was kept", got, err)
	}
	noError(t, s.Feeds().Send(ctx, feed.Message{To: []presence.UserID{"alice"}, Text: "hello"}))
}

// tablesOf returns the names of the site's tables.
func tablesOf(t *testing.T, k kind, db *sql.DB) (tables []string) {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if k.dialect == sqlstore.Postgres {
		query = "SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
	}
	rows, err := db.Query(query)
	noError(t, err)
	defer rows.Close()
	for rows.Next() {
		var table string
		noError(t, rows.Scan(&table))
		tables = append(tables, table)
	}
	noError(t, rows.Err())
	return tables
}

// A site that has run the steps by its own list leaves nothing to do, and needs no right to make
// tables.
func TestMigrationsOfASite(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		for _, config := range []sqlstore.Config{{Dialect: k.dialect}, chosen(k)} {
			db := openChosen(t, kindWithName(k, config.Prefix))
			steps, err := sqlstore.Migrations(config)
			noError(t, err)
			for i, step := range steps {
				if step.Version != i+1 {
					t.Errorf("got version %d of step %d", step.Version, i+1)
				}
				for statement := range strings.SplitSeq(strings.TrimSuffix(step.SQL, ";\n"), ";\n") {
					_, err := db.ExecContext(context.Background(), statement)
					noError(t, err)
				}
			}
			before := tablesOf(t, k, db)
			s := newStore(t, db, config)
			noError(t, s.Migrate(t.Context()))
			if after := tablesOf(t, k, db); len(after) != len(before) {
				t.Errorf("Migrate made tables: %q, and before %q", after, before)
			}
			works(t, s)
		}
	})
}

// kindWithName returns a kind whose databases in memory have another name.
func kindWithName(k kind, name string) kind {
	if k.name == "SQLite in memory" {
		k.dsn = func(t testing.TB) string { return sqlstore.SQLiteMemoryDSN(t.Name() + name) }
	}
	return k
}

func TestInvalidNames(t *testing.T) {
	for _, config := range []sqlstore.Config{
		{Dialect: sqlstore.SQLite, Prefix: "a;b"}, {Dialect: sqlstore.SQLite, Prefix: "App_"}, {Dialect: sqlstore.SQLite, Prefix: "1_"},
		{Dialect: sqlstore.SQLite, Schema: "presence"}, {Dialect: sqlstore.Postgres, Schema: "a.b"}, {Dialect: sqlstore.Postgres, Prefix: strings.Repeat("a", 33)}, {},
	} {
		if _, err := sqlstore.Migrations(config); !errors.Is(err, presence.ErrInvalidConfig) {
			t.Errorf("%+v: got %v, want presence.ErrInvalidConfig", config, err)
		}
	}
}
