package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// A database keeps posts, notifications, settings, contacts, blocks and sessions. While it is unreachable the
// forum goes on, but nothing can be changed, and nobody sees more than before.
type database struct {
	*sql.DB
	store  *sqlstore.Store
	people *sqlstore.People
	ended  *endedSessions

	dialect sqlstore.Dialect
	now     string  // SQL for the present moment by the database's clock, in Unix milliseconds
	keeper  *sql.DB // holds a database in memory, which lives as long as a connection to it
	log     *slog.Logger

	prepared, out bool  // used only by watchEnded, once it runs
	read          int64 // the version of the data of which it read the ended sessions

	stop context.CancelFunc // ends watchEnded
	done sync.WaitGroup
}

// The present moment, in each SQL dialect.
const (
	sqliteNow   = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
	postgresNow = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
)

// validSQL checks the value of -sql without connecting. Its errors do not contain the value, which may have a
// password.
func validSQL(value string) error {
	switch scheme, rest, _ := strings.Cut(value, ":"); {
	case value == "":
		return nil
	case scheme == "file":
		path := strings.TrimPrefix(rest, "//") // as file:///var/forum.db
		if path == "" || strings.HasSuffix(path, "/") || path == ":memory:" || strings.Contains(path, "?") {
			return errors.New("after file: there must be the path of a file, and nothing else")
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return fmt.Errorf("there is no directory %q", filepath.Dir(path))
		}
		return nil
	case scheme == "postgres" || scheme == "postgresql":
		if _, err := pgx.ParseConfig(value); err != nil {
			return errors.New("must be a URL such as postgres://user:password@host:5432/database")
		}
		return nil
	}
	return errors.New("must be file:PATH or postgres://…")
}

// openSQL returns the database of the flags -sql and -redis, or nil if the flags ask for none. A database with
// a newer schema is an error; an unreachable one is not.
func openSQL(config config, log *slog.Logger) (*database, error) {
	if config.sql == "" && config.redis != "" {
		log.Info("no database: there are no settings, contacts, sessions, replies and notifications; -sql names one")
		return nil, nil
	}
	d := &database{ended: newEndedSessions(), log: log, dialect: sqlstore.SQLite, now: sqliteNow}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	var err error
	most := 10 // connections at most
	path, isFile := strings.CutPrefix(config.sql, "file:")
	switch {
	case isFile:
		d.DB, err = sql.Open("sqlite", sqlstore.SQLiteDSN(strings.TrimPrefix(path, "//")))
	case config.sql == "":
		most = 1 // more would only wait for one another
		if d.DB, d.keeper, err = openMemory(ctx); err != nil {
			return nil, err
		}
	default:
		d.dialect, d.now = sqlstore.Postgres, postgresNow
		d.DB, err = openPostgres(config.sql)
	}
	if err != nil {
		return nil, err
	}
	d.SetMaxOpenConns(most)
	d.SetMaxIdleConns(most)
	if d.store, err = sqlstore.New(d.DB, sqlstore.Config{Dialect: d.dialect}); err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.people = d.store.People()
	switch err := d.prepare(ctx); {
	case errors.Is(err, sqlstore.ErrNewerDatabase):
		return nil, errors.Join(err, d.close())
	case err != nil:
		d.out = true
		log.Warn("the database cannot be used; pages go on, and settings, contacts, sessions, replies and notifications begin when it can", "err", err)
	}
	return d, nil
}

// openMemory returns a database in memory, and a second connection that keeps it alive while the first one is
// replaced.
func openMemory(ctx context.Context) (db, keeper *sql.DB, err error) {
	dsn := sqlstore.SQLiteMemoryDSN(newToken(time.Now())) // a name that no other site in this process has
	db, err = sql.Open("sqlite", dsn)
	if err == nil {
		keeper, err = sql.Open("sqlite", dsn)
	}
	if err == nil {
		err = keeper.PingContext(ctx)
	}
	return db, keeper, err
}

// openPostgres returns a PostgreSQL database. It does not connect.
func openPostgres(url string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 2 * time.Second
	}
	return stdlib.OpenDB(*config), nil
}

// prepare creates missing tables, and reads which sessions have ended.
func (d *database) prepare(ctx context.Context) error {
	if err := d.store.Migrate(ctx); err != nil {
		return err
	}
	if err := d.store.Transact(ctx, func(tx sqlstore.Tx) error { return d.makeTables(ctx, tx) }); err != nil {
		return err
	}
	_, err := d.readEnded(ctx)
	d.prepared = err == nil
	return err
}

// makeTables creates the forum's own tables. If two processes start at once, one waits for the other, because
// PostgreSQL returns an error if two create the same table at once.
func (d *database) makeTables(ctx context.Context, tx sqlstore.Tx) error {
	if d.dialect == sqlstore.Postgres {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('forum_posts'))`); err != nil {
			return err
		}
	}
	statements := append(slices.Clone(sessionTable), postTable)
	if d.dialect == sqlstore.Postgres {
		statements = append(statements, sessionTrigger...)
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return seedPosts(ctx, tx, "")
}

// start calls onEnd for sessions that end on other nodes, until close.
func (d *database) start(onEnd func(sessionName)) {
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	d.done.Go(func() { d.watchEnded(ctx, onEnd) })
	d.done.Go(func() { d.store.Listen(ctx, waitPostgres) })
}

// waitPostgres is a sqlstore.WaitFunc.
func waitPostgres(ctx context.Context, conn *sql.Conn) (payload string, err error) {
	err = conn.Raw(func(c any) error {
		n, err := c.(*stdlib.Conn).Conn().WaitForNotification(ctx)
		if err == nil {
			payload = n.Payload
		}
		return err
	})
	return payload, err
}

// directory returns the tracker's Directory, or nil without a database.
func (d *database) directory() presence.Directory {
	if d == nil {
		return nil
	}
	return d.people
}

// close stops watchEnded, and closes the connections.
func (d *database) close() error {
	if d == nil {
		return nil
	}
	if d.stop != nil {
		d.stop()
	}
	d.done.Wait()
	if d.keeper != nil {
		_ = d.keeper.Close()
	}
	return d.DB.Close()
}
