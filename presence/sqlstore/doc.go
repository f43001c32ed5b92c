// Package sqlstore keeps what a site knows of its people in SQLite or PostgreSQL: what
// users chose, whom they list or block, when they were last seen, and what they were sent.
// Its [People] is the [presence.Directory] of a site that has no tables of its own for that,
// and its [Feeds] keep inboxes and rooms: see package feed. [Feeds.SendTx] notifies people in a
// transaction of the site's own.
//
// The site opens the database with the driver of its choice, and closes it: this package
// imports database/sql and no driver. It is tested with modernc.org/sqlite and
// github.com/jackc/pgx/v5/stdlib.
//
//	db, err := sql.Open("sqlite", sqlstore.SQLiteDSN("people.db"))
//	store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.SQLite})
//	err = store.Migrate(ctx)
//	tracker, err := track.New(…, track.Config{Directory: store.People()})
//	keeper, err := feed.New(store.Feeds(), tracker, feed.Config{})
//
// Contacts and blocks are the site's to change, by [People.AddContact] and its like, and
// People.RelationsChanged afterwards. Settings change by People.ChangeSettings. Whoever
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
//	rollcall_feeds       a row for each inbox and room: its head
//	rollcall_items       a row for each item of a feed
//	rollcall_ids         a row for each message that reached a feed: none counts twice
//	rollcall_outbox      a row for each message that waits
//	rollcall_mutes       a row for each thing that a user does not want
//	rollcall_erasures    a row for each erasure of a user that is not done
//	rollcall_migrations  a row for each migration that was applied
//
// [Config].Prefix and [Config].Schema choose other names. A site that has its migrations in a list
// of its own takes ours from [Migrations].
//
// Any program may insert (id, message) into rollcall_outbox, in a transaction of its own: the
// message is the JSON of a feed.Message, the id any text that no other row of the tenant has.
// Rows of the same millisecond are moved in the order of their ids. A program of a tenant inserts
// (id, message, tenant): the names in the message are local, and nothing in it names a tenant. A
// message that could not be relayed ten times stays, with the reason in the
// column error; UPDATE rollcall_outbox SET tries = 0, due = 0 WHERE due IS NULL has it tried
// again. All other tables are this package's alone.
//
// One Store serves all tenants. Every row but those of migrations has a tenant, and so does every
// statement that reads or writes rows of users or feeds: people of one tenant are unknown to
// another (rules P14, T3). Methods take and return ids and names of inside, which say the tenant;
// rows have local ones. A row of before there were tenants has the empty one. Ids are compared
// byte by byte, whatever the collation of the database.
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
// Sending is one insert, and takes no lock. Every other change of a feed locks its head first:
// one head, or the heads of a batch in the order of their names. So no two transactions wait for
// each other, and revisions commit in their order. The counters are columns of the head.
//
// Relay, digests, trims and recounts are of all tenants. While nothing is due a relay is one
// query, whose cost grows with the tenants that have messages waiting, not with all there are.
// Tenants take turns, of one batch each, and so do their digests: a tenant with 100,000
// messages holds up no other one.
//
// # At rest
//
// While nobody changes anything, jobs and pages make no query, but a few every two minutes, in case a sign of a
// change was lost. Nothing is later for that: [Store.DataVersion] notices what any program commits, and everything
// is polled as often as before until it has been read. On SQLite this works by itself. On PostgreSQL each
// process runs [Store.Listen], with a [WaitFunc] of its driver's; without that everything is polled.
//
// # When the database is out
//
// Calls return the driver's error, and end with their context. The Tracker takes such an
// error for the strictest answer: newcomers stay unseen, settings cannot be changed, and last
// seen is kept in memory until it can be written. Nothing has to be restarted.
package sqlstore
