package sqlstore

import "net/url"

// SQLiteDSN returns what sql.Open("sqlite", …) of modernc.org/sqlite takes for a file that
// several connections and processes of one machine share: a writer waits up to five
// seconds for another one, readers wait for nobody (WAL), and a commit survives the end of
// the process, though the last ones may be lost with the machine's power.
// The file must not lie on a network's drive.
//
// Several processes on several machines need PostgreSQL.
func SQLiteDSN(path string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	u.RawQuery = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=cache_size(-16000)&_pragma=foreign_keys(1)"
	return u.String()
}

// SQLiteMemoryDSN is like [SQLiteDSN], for a database in memory that all connections of this process share by
// its name. It is gone when the last of them is closed, so set no ConnMaxLifetime and no ConnMaxIdleTime.
func SQLiteMemoryDSN(name string) string {
	u := url.URL{Scheme: "file", Opaque: "/" + url.PathEscape(name)}
	u.RawQuery = "vfs=memdb&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	return u.String()
}
