package sqlstore

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A database runs statements, in a transaction if they write. Each part of a Store has it.
type database struct {
	pool     *sql.DB
	dialect  Dialect
	texts    map[string]string // statements, by the names of their files
	clock    clock
	signs    signs
	writing  wait.Mutex   // SQLite: held by the transaction that writes
	patience atomic.Int64 // SQLite: how long a connection waits for the lock of the file, in nanoseconds; 0: unknown
}

// exec runs a statement that returns no rows.
func (s *database) exec(ctx context.Context, q querier, name string, args ...any) error {
	_, err := q.ExecContext(ctx, s.texts[name], args...)
	return explain(err)
}

// query calls scan for each row of a statement.
func (s *database) query(ctx context.Context, name string, scan func(*sql.Rows) error, args ...any) error {
	return s.queryIn(ctx, s.pool, name, scan, args...)
}

// queryIn is query in a transaction.
func (s *database) queryIn(ctx context.Context, q querier, name string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := q.QueryContext(ctx, s.texts[name], args...)
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *database) databaseNow(ctx context.Context) (time.Time, error) {
	var ms int64
	err := s.pool.QueryRowContext(ctx, s.texts["now"]).Scan(&ms)
	return time.UnixMilli(ms), err
}
