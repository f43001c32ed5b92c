// Package sqlstore keeps what a site knows of its people in SQLite or PostgreSQL: what
// users chose, whom they list or block, and when they were last seen. Its [People] is the
// [presence.Directory] of a site that has no tables of its own for that.
//
// The site opens the database with the driver of its choice, and closes it: this package
// imports database/sql and no driver. It is tested with modernc.org/sqlite and
// github.com/jackc/pgx/v5/stdlib.
//
//	db, err := sql.Open("sqlite", sqlstore.SQLiteDSN("people.db"))
//	store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.SQLite})
//	err = store.Migrate(ctx)
//	tracker, err := presence.New(…, presence.Config{Directory: store.People()})
//
// Contacts and blocks are the site's to change, by [People.AddContact] and its like, and
// Tracker.RelationsChanged afterwards. Settings change by Tracker.SetSettings. Whoever
// changes a row by other means calls RelationsChanged, too.
//
// # Which database
//
// SQLite's file is shared by the processes of one machine. It takes one writer at a time.
// A fleet on several machines needs PostgreSQL.
//
// Behind PgBouncer in transaction mode, use the driver without prepared statements of its
// own: with pgx, default_query_exec_mode=exec in the connection's URL. A statement is the
// same text for any number of users, and no call needs a session: [Store.Migrate] takes its
// lock for a transaction.
//
// # Tables
//
// The statements are in sql/, each with a head that says what it takes, returns and costs.
//
//	rollcall_people      a row for each user: settings, last seen, whether somebody is blocked
//	rollcall_contacts    a row for each contact and each blocked user of a user
//	rollcall_migrations  a row for each migration that was applied
//
// Every row but those of migrations has a tenant, and so does every statement: people of
// one [Config.Tenant] are unknown to another (rule P14). Ids are compared byte by byte,
// whatever the collation of the database.
//
// Times are Unix milliseconds of the database's clock (SQLite's is the machine's). A node
// whose clock is more than half a second off translates them; the node finds out within a
// minute.
//
// # Cost
//
// Each method of presence.Directory is one statement, which finds each of its users by the
// primary key. Each node also asks PostgreSQL for its time, once a minute. An update of
// last seen changes no index, and a page of rollcall_people keeps room for it.
//
// # When the database is out
//
// Calls return the driver's error, and end with their context. The Tracker takes such an
// error for the strictest answer: newcomers stay unseen, settings cannot be changed, and last
// seen is kept in memory until it can be written. Nothing has to be restarted.
package sqlstore
