package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// A Tx is a transaction of [Store.Transact]. A *sql.Tx, *sql.Conn and *sql.DB have its methods
// too.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// A querier is a database, or a transaction.
type querier = Tx

// Transact runs do in a transaction of its own, and rolls it back if do returns an error, which Transact
// returns. do must use nothing but tx, and not after it has returned. Give [Feeds.SendTx] the same tx, and
// call Kick of package feed afterwards.
//
// A site may begin transactions in any other way. This one suits both dialects. On PostgreSQL a statement
// sees what was committed while it waited for a lock, whatever the site's default is. On SQLite the
// transaction begins as a writing one: one that reads first fails, instead of waiting, if another connection
// has written in between. A process runs one such transaction at a time, since others would hold connections
// while they wait for the lock of the file, and would wait longer than ctx allows.
func (s *database) Transact(ctx context.Context, do func(tx Tx) error) error {
	return s.transact(ctx, do)
}

func (s *database) transact(ctx context.Context, do func(querier) error) error {
	defer s.changed()
	if s.dialect == SQLite {
		return s.transactSQLite(ctx, do)
	}
	tx, err := s.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() // a no-op after Commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// transactSQLite sends BEGIN itself, because database/sql cannot begin an IMMEDIATE transaction.
func (s *database) transactSQLite(ctx context.Context, do func(querier) error) (err error) {
	if err := s.writing.Lock(ctx); err != nil {
		return err
	}
	defer s.writing.Unlock()
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := s.beginSQLite(ctx, conn); err != nil {
		return err
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		// The transaction may have failed because of ctx. A connection that stays in it is useless.
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()
	if err := do(conn); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	committed = err == nil
	return err
}

// beginSQLite begins a transaction that writes. SQLite waits for the lock of the file for the connection's
// busy_timeout, even if ctx ends. So the timeout is reduced to what ctx allows, and restored afterwards.
func (s *database) beginSQLite(ctx context.Context, conn *sql.Conn) (err error) {
	usual := time.Duration(s.patience.Load())
	if end, ok := ctx.Deadline(); ok && time.Until(end) < usual {
		if err := setBusyTimeout(ctx, conn, max(time.Until(end), time.Millisecond)); err != nil {
			return err
		}
		defer func() {
			if back := setBusyTimeout(context.WithoutCancel(ctx), conn, usual); back != nil {
				_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // closes the connection, with its transaction
				err = errors.Join(err, back)
			}
		}()
	}
	_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	return err
}

func setBusyTimeout(ctx context.Context, conn *sql.Conn, d time.Duration) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
	return err
}
