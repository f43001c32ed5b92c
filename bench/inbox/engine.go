package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// An engine is a kind of database with a folder for its data.
type engine struct {
	name    string
	dialect sqlstore.Dialect
	dir     string
	server  *exec.Cmd // of PostgreSQL
}

var errMissing = errors.New("is not installed")

// startEngine starts an engine with no data in a folder that does not exist yet.
func startEngine(name, dir string, quick bool) (*engine, error) {
	if name == "sqlite" {
		return &engine{"SQLite", sqlstore.SQLite, dir, nil}, os.MkdirAll(dir, 0o700)
	}
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(programs) == 0 {
		return nil, fmt.Errorf("PostgreSQL %w", errMissing)
	}
	slices.SortFunc(programs, func(a, b string) int { return version(a) - version(b) })
	bin := filepath.Dir(programs[len(programs)-1])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	account, err := lowly(dir)
	if err != nil {
		return nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := bound.To(exec.Command(filepath.Join(bin, name), args...), syscall.SIGQUIT)
		cmd.Dir, cmd.SysProcAttr.Credential = dir, account
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	cmd := command("postgres", append([]string{"-D", data, "-k", dir, "-h", ""}, settings(quick)...)...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	e := &engine{"Postgres", sqlstore.Postgres, dir, cmd}
	for range 3000 {
		if err = command("pg_isready", "-q", "-h", dir, "-U", "postgres").Run(); err == nil {
			return e, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	e.stop()
	return nil, fmt.Errorf("postgres does not answer: %w", err)
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// settings are PostgreSQL's defaults, but for memory and the room that its log takes. A quick
// run does without the waits for the disk.
func settings(quick bool) []string {
	all := []string{"-c", "max_connections=200", "-c", "shared_buffers=1GB", "-c", "maintenance_work_mem=512MB",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "max_wal_size=1GB", "-c", "logging_collector=on", "-c", "log_min_messages=warning"}
	if quick {
		all = append(all, "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=32MB")
	}
	return all
}

// lowly gives a folder to an account without root's rights, and returns the account. It
// returns nil where this process has no such rights.
func lowly(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
}

func (e *engine) stop() {
	if e.server == nil {
		return
	}
	_ = e.server.Process.Signal(syscall.SIGINT)
	_ = e.server.Wait()
}

// dsn returns the address of a database of a name.
func (e *engine) dsn(name string) string {
	if e.dialect == sqlstore.SQLite {
		return sqlstore.SQLiteDSN(filepath.Join(e.dir, name+".db"))
	}
	return "postgres://postgres@/" + name + "?host=" + url.QueryEscape(e.dir) + "&sslmode=disable"
}

// create makes an empty database, and opens it.
func (e *engine) create(ctx context.Context, name string) (*sql.DB, error) {
	if e.dialect == sqlstore.Postgres {
		admin, err := sql.Open("pgx", e.dsn("postgres"))
		if err != nil {
			return nil, err
		}
		defer admin.Close()
		if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
			return nil, err
		}
	}
	return e.open(name)
}

func (e *engine) open(name string) (*sql.DB, error) {
	driver := "pgx"
	if e.dialect == sqlstore.SQLite {
		driver = "sqlite"
	}
	db, err := sql.Open(driver, e.dsn(name))
	if err == nil {
		db.SetMaxIdleConns(16) // of more than two, each would be opened anew
		db.SetMaxOpenConns(16)
	}
	return db, err
}

// drop removes a database that nobody has open.
func (e *engine) drop(ctx context.Context, name string) error {
	if e.dialect == sqlstore.SQLite {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(filepath.Join(e.dir, name+".db"+suffix))
		}
		return nil
	}
	admin, err := sql.Open("pgx", e.dsn("postgres"))
	if err != nil {
		return err
	}
	defer admin.Close()
	_, err = admin.ExecContext(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
	return err
}

// pick returns the statement of the dialect.
func (e *engine) pick(sqlite, postgres string) string {
	if e.dialect == sqlstore.SQLite {
		return sqlite
	}
	return postgres
}

// series is a table with the column i, from 0.
func (e *engine) series(n int) string {
	return fmt.Sprintf(e.pick("(WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)",
		"(SELECT i FROM generate_series(0, %d) AS s(i))"), n-1)
}
