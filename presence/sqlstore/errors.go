package sqlstore

import "errors"

// What functions of this package return, to be asked for with [errors.Is].
var (
	// ErrNewerDatabase: a newer version of this program has migrated the database. Run that version, or
	// restore an earlier backup: an older program would lose what it cannot read.
	ErrNewerDatabase = errors.New("the database is newer than this program")
)
