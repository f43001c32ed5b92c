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
)

// explain adds the cure to an error of PostgreSQL that says that a connection has other prepared statements than
// the driver made on it.
func explain(err error) error {
	var failed interface{ SQLState() string }
	if errors.As(err, &failed) && (failed.SQLState() == "42P05" || failed.SQLState() == "26000") {
		return fmt.Errorf("%w: behind PgBouncer, connect without prepared statements; with pgx, put default_query_exec_mode=exec into the URL", err)
	}
	return err
}
