package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// All schemas get the same notifications, in the order of their time, so that those of one
// user lie as far apart as on a site. Each user has about a hundred, a tenth of them unread.
// Two users have 1,000 each: of light's 10 are unread, and of heavy's all.
const (
	light = 1
	heavy = 2
	extra = 1_000 // the notifications of light, and of heavy
)

// A crowd says whose the notification number i is.
type crowd struct{ rows, users, stride int }

func newCrowd(rows int) crowd { return crowd{rows, min(max(rows/100, 1), 100_000), rows / extra} }

// user is an SQL expression of i: a number. Users other than light and heavy begin at 10.
func (c crowd) user() string {
	return fmt.Sprintf("(CASE i %% %d WHEN 0 THEN %d WHEN %d THEN %d ELSE 10 + i %% %d END)", c.stride, heavy, c.stride/2, light, c.users)
}

// place is how many notifications the user had before, plus one. There may be gaps.
func (c crowd) place() string {
	return fmt.Sprintf("(CASE WHEN i %% %[1]d IN (0, %[2]d) THEN i / %[1]d ELSE i / %[3]d END + 1)", c.stride, c.stride/2, c.users)
}

// unread is whether nobody has read it.
func (c crowd) unread() string {
	return fmt.Sprintf("(CASE i %% %[1]d WHEN 0 THEN true WHEN %[2]d THEN i / %[1]d >= %[4]d ELSE (i / %[3]d) %% 10 = 0 END)",
		c.stride, c.stride/2, c.users, extra-10)
}

// An inbox is one way to keep notifications. Users are numbers, as in the crowd.
type inbox interface {
	name() string
	// fill makes the tables and their rows.
	fill(ctx context.Context, c crowd) error
	// count returns how many are unread.
	count(ctx context.Context, user int) (int, error)
	// list reads the newest 20.
	list(ctx context.Context, user int) (int, error)
	// some returns up to n that are unread, as mark wants them, and the thread of the first.
	some(ctx context.Context, user, n int) (ids []string, thread int, err error)
	// mark marks one as read, thread what is about a thread, and all everything.
	mark(ctx context.Context, user int, id string) error
	thread(ctx context.Context, user, thread int) error
	all(ctx context.Context, user int) error
	// reset makes all of a user unread.
	reset(ctx context.Context, user int) error
}

// load fills tables without their indexes and makes those afterwards, which takes a fraction
// of the time.
func load(ctx context.Context, e *engine, db *sql.DB, tables []string, fill ...string) error {
	var before, after []string
	if e.dialect == sqlstore.Postgres {
		before = append(before, "SET synchronous_commit = off")
		for _, table := range tables {
			drop, create, err := indexes(ctx, db, table)
			if err != nil {
				return err
			}
			before, after = append(before, drop...), append(after, create...)
		}
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	after = append(after, e.pick("ANALYZE", "VACUUM ANALYZE"), e.pick("PRAGMA wal_checkpoint(TRUNCATE)", "CHECKPOINT"), e.pick("SELECT 1", "RESET synchronous_commit"))
	for _, statement := range append(append(before, fill...), after...) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.200s: %w", statement, err)
		}
	}
	return nil
}

// indexes returns what drops the indexes of a table, and what makes them again.
func indexes(ctx context.Context, db *sql.DB, table string) (drop, create []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT i.relname, coalesce(c.conname, ''), coalesce(pg_get_constraintdef(c.oid), pg_get_indexdef(i.oid))
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid LEFT JOIN pg_constraint c ON c.conindid = i.oid AND c.contype IN ('p', 'u')
		WHERE x.indrelid = $1::regclass`, table)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var index, constraint, definition string
		if err := rows.Scan(&index, &constraint, &definition); err != nil {
			return nil, nil, err
		}
		if constraint != "" {
			drop = append(drop, "ALTER TABLE "+table+" DROP CONSTRAINT "+constraint)
			create = append(create, "ALTER TABLE "+table+" ADD CONSTRAINT "+constraint+" "+definition)
		} else {
			drop = append(drop, "DROP INDEX "+index)
			create = append(create, definition)
		}
	}
	return drop, create, rows.Err()
}

// A peer is an inbox that is a table with one statement for each method. User and thread are
// $1 and $2.
type peer struct {
	e  *engine
	db *sql.DB
	statements
}

type statements struct {
	title, relation string
	create          []string
	insert          func(crowd) string
	index           []string

	countOf, listOf, someOf, markOne, markThread, markAll, resetAll string
}

func (p *peer) name() string { return p.title }

func (p *peer) fill(ctx context.Context, c crowd) error {
	for _, statement := range p.create {
		if _, err := p.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return load(ctx, p.e, p.db, []string{p.relation}, append([]string{p.insert(c)}, p.index...)...)
}

func (p *peer) text(statement string) string {
	if p.e.dialect == sqlstore.SQLite {
		return strings.NewReplacer("$1", "?1", "$2", "?2").Replace(statement)
	}
	return statement
}

func (p *peer) count(ctx context.Context, user int) (n int, err error) {
	err = p.db.QueryRowContext(ctx, p.text(p.countOf), user).Scan(&n)
	return n, err
}

func (p *peer) list(ctx context.Context, user int) (int, error) {
	rows, err := p.db.QueryContext(ctx, p.text(p.listOf), user)
	if err != nil {
		return 0, err
	}
	return drain(rows)
}

// drain reads rows as a page does: every column.
func drain(rows *sql.Rows) (n int, err error) {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	row := make([]any, len(columns))
	for i := range row {
		row[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(row...); err != nil {
			return 0, err
		}
		n++
	}
	return n, rows.Err()
}

func (p *peer) some(ctx context.Context, user, n int) (ids []string, thread int, err error) {
	rows, err := p.db.QueryContext(ctx, p.text(p.someOf), user, n)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id, &thread); err != nil {
			return nil, 0, err
		}
		ids = append(ids, id)
	}
	return ids, thread, rows.Err()
}

func (p *peer) exec(ctx context.Context, statement string, args ...any) error {
	_, err := p.db.ExecContext(ctx, p.text(statement), args...)
	return err
}

func (p *peer) mark(ctx context.Context, _ int, id string) error { return p.exec(ctx, p.markOne, id) }
func (p *peer) all(ctx context.Context, user int) error          { return p.exec(ctx, p.markAll, user) }
func (p *peer) reset(ctx context.Context, user int) error        { return p.exec(ctx, p.resetAll, user) }
func (p *peer) thread(ctx context.Context, user, thread int) error {
	return p.exec(ctx, p.markThread, user, thread)
}
