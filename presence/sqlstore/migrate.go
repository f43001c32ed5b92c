package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// Migrate makes the tables, or updates those of an older version. Call it at each start, before anything
// else. Several processes may call it at once: each step is one transaction, made by one of them, and all
// return when the last step is made. If nothing is left to do it only reads. So the site's own account needs
// no right to create tables if another account has migrated before.
//
// It returns [ErrNewerDatabase], [ErrOldDatabase], or an error that says what to change if the database does not speak the
// dialect, or does not wait for locks.
func (s *Store) Migrate(ctx context.Context) (err error) {
	defer wrap(&err, "migrate")
	defer s.changed() // what was committed before there was a trigger is noticed
	at, err := s.version(ctx, s.pool)
	for try := 0; try < 100 && err != nil && s.dialect == SQLite && strings.Contains(err.Error(), "database is locked"); try++ {
		// Of several processes that open a new file, one switches it to WAL, and SQLite does not let the
		// others wait for that.
		if !wait.For(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
		at, err = s.version(ctx, s.pool)
	}
	if errors.Is(err, ErrOldDatabase) {
		return err
	}
	if err != nil {
		return fmt.Errorf("is %s what the database speaks, as Config.Dialect says? %w", s.dialect, err)
	}
	if s.dialect == SQLite {
		if err := s.checkPatience(ctx); err != nil {
			return err
		}
		s.findFile(ctx)
	}
	for at < len(s.steps) {
		if at, err = s.step(ctx); err != nil {
			return err
		}
	}
	if at > len(s.steps) {
		return fmt.Errorf("%w: it has step %d, and this program knows %d; run the version that made step %d, or a later one", ErrNewerDatabase, at, len(s.steps), at)
	}
	return nil
}

// version returns the last step that was made, or 0.
func (s *Store) version(ctx context.Context, q querier) (version int, err error) {
	var exists int
	if err := q.QueryRowContext(ctx, s.texts["exists"]).Scan(&exists); err != nil || exists == 0 {
		return 0, err
	}
	var first string
	err = q.QueryRowContext(ctx, s.texts["version"]).Scan(&version, &first)
	if err == nil && version > 0 && first != s.steps[0].Name {
		err = ErrOldDatabase
	}
	return version, err
}

// step makes the next step, unless another process has made all. It returns the number of the last step that
// is made.
func (s *Store) step(ctx context.Context) (at int, err error) {
	err = s.transact(ctx, func(q querier) error {
		if s.dialect == Postgres {
			if err := s.exec(ctx, q, "turn"); err != nil {
				return err
			}
		}
		if err := s.exec(ctx, q, "migrations"); err != nil {
			return err
		}
		if at, err = s.version(ctx, q); err != nil || at >= len(s.steps) {
			return err
		}
		next := s.steps[at]
		for _, statement := range next.statements {
			if _, err := q.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", next.Name, err)
			}
		}
		at = next.Version
		return s.exec(ctx, q, "migrated", next.Version, next.Name, time.Now().UnixMilli())
	})
	return at, err
}

// checkPatience returns an error if SQLite fails at once while another connection writes, because writes
// would then fail for no reason.
func (s *Store) checkPatience(ctx context.Context) error {
	var ms int
	if err := s.pool.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&ms); err != nil {
		return err
	}
	if ms == 0 {
		return errors.New("SQLite's busy_timeout is 0, so that a write fails while another connection writes: open the database by SQLiteDSN, or set the timeout for each connection")
	}
	s.patience.Store(int64(time.Duration(ms) * time.Millisecond))
	return nil
}
