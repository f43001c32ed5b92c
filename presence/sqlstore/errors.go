package sqlstore

import (
	"errors"
	"fmt"
)

// What functions of this package return, to be asked for with [errors.Is].
var (
	// ErrNewerDatabase: a newer version of this program has migrated the database. Run that version, or
	// restore an earlier backup: an older program would lose what it cannot read.
	ErrNewerDatabase = errors.New("the database is newer than this program")
	// ErrOldDatabase: the tables were made before the first release. Drop them: Migrate makes new ones.
	ErrOldDatabase = errors.New("the database was made before the first release; drop its tables of this package, with that of migrations")
)

// wrap adds the operation to the error that a method returns: defer wrap(&err, "mark").
func wrap(err *error, operation string) {
	if *err != nil {
		*err = fmt.Errorf("sqlstore: %s: %w", operation, *err)
	}
}

// explain adds the cure to an error of PostgreSQL that says that a connection has other prepared statements than
// the driver made on it.
func explain(err error) error {
	var failed interface{ SQLState() string }
	if errors.As(err, &failed) && (failed.SQLState() == "42P05" || failed.SQLState() == "26000") {
		return fmt.Errorf("%w: behind PgBouncer, connect without prepared statements; with pgx, put default_query_exec_mode=exec into the URL", err)
	}
	return err
}
