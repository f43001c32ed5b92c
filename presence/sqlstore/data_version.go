package sqlstore

import (
	"context"
	"database/sql"
	"os"
	"runtime"
	"sync"
	"time"
)

// slowPoll is how often DataVersion changes although nobody has committed anything that it noticed. So a
// notification that is lost does no harm for longer.
const slowPoll = 2 * time.Minute

// DataVersion returns a number that changes when somebody has committed a change, like SQLite's PRAGMA
// data_version. It is no query. Whoever polls the database remembers the number of before the last query, and
// asks again only when it is another one. Example: a site reads each second which sessions have ended. At
// night nobody writes, and it reads them every two minutes.
//
// On SQLite it comes from the time and the size of the file and its log, so it notices the changes of all
// programs, in any table. It may change twice more within two seconds after a change, because two changes of
// the same moment look alike. Of a database in memory it notices only what goes through this Store.
//
// On PostgreSQL it notices changes of the outbox, of heads of feeds, of erasures, and of the site's own tables
// that have the trigger: see [Store.Listen]. Without Listen, and on SQLite before [Store.Migrate] or on
// Windows, nothing is known of changes: each call returns another number.
func (s *database) DataVersion() int64 {
	s.signs.mu.Lock()
	defer s.signs.mu.Unlock()
	now, known := s.signsLocked(time.Now())
	if !known || now != s.signs.latest {
		s.signs.version++
		s.signs.latest = now
	}
	return s.signs.version
}

// signs has what shows that the data has changed.
type signs struct {
	mu      sync.Mutex
	version int64
	latest  sign
	began   time.Time

	found bool      // SQLite: it is known which file
	file  string    // SQLite: the path of the database; empty: it is in memory
	wrote time.Time // when this Store has written the last time
	own   int64     // how often this Store has written

	hears bool  // PostgreSQL: Listen hears what others commit
	heard int64 // how many notifications
}

// A sign is what a database looks like from outside. Two equal signs mean that nothing has changed.
type sign struct {
	file, log  fileSign
	own, heard int64
	settled    int   // see settled
	turn       int64 // of slowPoll
}

// A fileSign is what a file looks like. The zero value means that there is none.
type fileSign struct{ size, changed int64 }

func (s *database) signsLocked(now time.Time) (sign, bool) {
	of := &s.signs
	is := sign{own: of.own, heard: of.heard, turn: int64(now.Sub(of.began) / slowPoll)}
	if s.dialect == Postgres {
		return is, of.hears
	}
	latest := of.wrote
	if of.file != "" {
		var ok bool
		if is.file, ok = signOf(of.file); !ok {
			return is, false
		}
		is.log, _ = signOf(of.file + "-wal")
		latest = time.Unix(0, max(is.file.changed, is.log.changed))
	}
	is.settled = settled(now.Sub(latest))
	return is, of.found
}

func signOf(path string) (fileSign, bool) {
	info, err := os.Stat(path) // SQLite's locks are lost if somebody opens and closes the file
	if err != nil {
		return fileSign{}, false
	}
	return fileSign{info.Size(), info.ModTime().UnixNano()}, true
}

// settled returns 0, 1 or 2 for the age of the latest change. The time of a file moves in steps: of some
// milliseconds, and on some file systems of two seconds. A change within the step of the one before is
// noticed when that one is older.
func settled(age time.Duration) int {
	switch {
	case age < 100*time.Millisecond:
		return 0
	case age < 2*time.Second+100*time.Millisecond:
		return 1
	}
	return 2
}

// changed notes that this Store has written, or that it puts something into a transaction of the site's.
func (s *database) changed() {
	s.signs.mu.Lock()
	s.signs.own++
	s.signs.wrote = time.Now()
	s.signs.mu.Unlock()
}

// findFile finds out which file SQLite uses. If it cannot, everything is polled. Windows may delay the time of an
// open file.
func (s *database) findFile(ctx context.Context) {
	var path sql.NullString
	err := s.pool.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	s.signs.mu.Lock()
	s.signs.file, s.signs.found = path.String, err == nil && (path.String == "" || runtime.GOOS != "windows")
	s.signs.mu.Unlock()
}
