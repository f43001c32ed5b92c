package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// transact runs do in a transaction, which it rolls back on an error.
//
// SQLite's begins as one that writes. One that reads first and writes later fails, instead
// of waiting, where another connection has written in between.
func (s *Store) transact(ctx context.Context, do func(querier) error) error {
	if s.dialect == SQLite {
		return s.transactSQLite(ctx, do)
	}
	// Whatever the site's default is, a statement must see what was committed while it
	// waited for the lock of lock.sql.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// transactSQLite writes BEGIN itself, since database/sql has no word for IMMEDIATE.
func (s *Store) transactSQLite(ctx context.Context, do func(querier) error) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		// ctx may be why it failed. A connection that stays in a transaction is of no use.
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
